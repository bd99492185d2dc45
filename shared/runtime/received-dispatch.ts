import { isOutage } from '../core/errors.ts'
import { endedRuns, type Task } from '../core/task.ts'
import type { TaskType } from '../core/task-type.ts'
import { pieceOf, workOf } from '../core/work.ts'
import type { RunTools } from './run-task.ts'
import type { System } from './system.ts'

/** A dispatch of a task that may be claimed as it stands, by others or later, is passed on after so long, */
export const PASS_DELAY_S = 1
/** and so often. */
export const MAX_PASSES = 10

/** A dispatch as its queue delivered it. */
export type Received = {
  readonly messageId: string
  readonly seen: Task
  /** How often it has been passed on. @default 0 */
  readonly passedOn?: number
}

export type DispatchTools = RunTools & {
  readonly typeOf: (type: string) => Promise<TaskType | undefined>
}

/** A dispatch that met an outage is sent anew with this delay; by itself it would hide for its visibility timeout. */
const OUTAGE_DELAY_S = 20

/** Serves a dispatch; its message id when it could not be served and must come again. */
export async function caught(
  system: System,
  { messageId, seen, passedOn = 0 }: Received,
  serve: () => Promise<void>,
): Promise<string[]> {
  try {
    await serve()
    return []
  } catch (error) {
    system.log.error('a dispatch was not served and comes again', { error, taskId: seen.id })
    const isSent =
      isOutage(error) && (await sendBack(system, seen, OUTAGE_DELAY_S, passedOn).then(always, never))
    return isSent ? [] : [messageId]
  }
}

const always = () => true
const never = () => false

/** Whether the last run of the task's present piece took its process down. */
export function isSuspect(task: Task): boolean {
  const piece = pieceOf(task)
  const last = endedRuns(task)
    .filter(run => run.piece === piece)
    .sort((a, b) => a.fence - b.fence)
    .at(-1)
  return last?.state === 'lost'
}

/** What a run of this very task is given. */
export async function toolsFor(task: Task, { typeOf, ...tools }: DispatchTools): Promise<RunTools> {
  const { kind, type } = workOf(task)
  const webhook = kind === 'webhook' ? (await typeOf(type))?.configuration.webhook : undefined
  return { ...tools, ...(webhook && { context: { webhook } }) }
}

export async function sendBack(
  system: System,
  task: Task,
  delaySeconds: number,
  passedOn = 0,
): Promise<void> {
  const failures = await system.messages.dispatch([{ task, delaySeconds, ...(passedOn > 0 && { passedOn }) }])
  if (failures[0]) throw new Error(`dispatch of ${task.id} not sent back: ${failures[0].reason}`)
}
