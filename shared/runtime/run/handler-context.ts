import { idempotencyKey } from '../../core/task/piece.ts'
import { runId, type Task } from '../../core/task/task.ts'
import type { RunContext } from '../../define/task-context.ts'
import { Fatal, Next } from '../../signals.ts'
import type { Claimed } from '../claim/claim.ts'
import type { System } from '../kernel/system.ts'
import { publishChild } from '../publish/publish-child.ts'
import type { Hold } from './hold-run.ts'
import { refuseUnstorable } from './outcome.ts'
import type { RunLog } from './run-log.ts'

/** What the handler of a run gets besides its input. */
export function handlerContext(
  system: System,
  { task, run, traceparent }: Claimed,
  hold: Hold,
  { debug, info, warn, error }: RunLog,
): RunContext {
  return {
    taskId: task.id,
    runId: runId(task.born, run.fence),
    type: task.type,
    key: task.key,
    attempt: task.failures + 1,
    fence: run.fence,
    idempotencyKey: idempotencyKey(task),
    ...stageOrStepOf(task),
    ...(traceparent !== undefined && { traceparent }),
    signal: hold.signal,
    progress: value => {
      refuseUnstorable(value)
      hold.report(value)
    },
    next: (stage, options) => {
      if (task.flow) throw new Fatal(`${task.id} is a flow: its steps have no stages to go on with`)
      return new Next(stage, options)
    },
    publish: async publication => {
      hold.refresh()
      return publishChild(
        system,
        { id: task.id, userId: task.userId, traceparent, over: hold.over },
        publication,
      )
    },
    log: { debug, info, warn, error },
  }
}

/** The stage or step that the task is in. */
function stageOrStepOf({ stage, flow }: Task): Pick<RunContext, 'stage' | 'step' | 'direction'> {
  const step = flow?.definition.steps[flow.presentStep]
  return {
    ...(stage !== undefined && { stage }),
    ...(flow && step && { step: step.name, direction: flow.direction }),
  }
}
