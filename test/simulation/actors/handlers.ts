import * as z from 'zod'
import { defineTask, type TaskDefinition } from '../../../shared/define/define-task.ts'
import type { TaskContext } from '../../../shared/define/task-context.ts'
import { Fatal, Release, RetryLater } from '../../../shared/signals.ts'
import type { Act } from '../scenario.ts'
import type { Happening } from '../world/history.ts'
import type { Process } from '../world/process.ts'
import type { World } from '../world/world.ts'

/** What the runs of each birth of a task do, one act after the other; when the acts are used up they succeed. */
export type Script = {
  /** The act of a run that begins now. */
  next(input: unknown, idempotencyKey: string): Act
}

/** Input of a simulated task: what its runs do, and a number that tells one publish from another. */
const INPUT = z.object({
  nonce: z.number(),
  acts: z.array(z.object({ ms: z.number(), end: z.string() })),
  padding: z.string().optional(),
})

type Begun = Omit<Extract<Happening, { readonly what: 'began' }>, 'at' | 'by' | 'what'>

/** What a handler publishes itself has this one. */
export const CHILD_NONCE = -2

const SUCCEED: Act = { ms: 20, end: 'succeed' }

export function createScript(): Script {
  const begun = new Map<string, number>()
  return {
    next: (input, idempotencyKey) => {
      const count = begun.get(idempotencyKey) ?? 0
      begun.set(idempotencyKey, count + 1)
      const parsed = INPUT.safeParse(input)
      return (parsed.success ? (parsed.data.acts[count] as Act | undefined) : undefined) ?? SUCCEED
    },
  }
}

/** The handler of a type as it runs in a process: it tells that it began, and does what the script says. */
export function handlerIn(
  world: World,
  process: Process,
  script: Script,
  type: string,
  workerId: () => string,
): TaskDefinition {
  return defineTask(type, {
    input: INPUT,
    run: async (input, context) => {
      const { taskId: id, fence, idempotencyKey } = context
      const run = { id, fence, workerId: workerId(), input, idempotencyKey }
      const act = beginAct(world, process, script, run)
      return perform(process, act, context, input.padding)
    },
  }) as TaskDefinition
}

/** A run begins: the history is told, and the script says what it does. */
export function beginAct(world: World, process: Process, script: Script, run: Begun): Act {
  const { history, timeline } = world
  const at = timeline.now()
  history.tell({ at, by: process.name, what: 'began', ...run })
  const act = script.next(run.input, run.idempotencyKey)
  history.note(at, process.name, () => `runs ${run.id} (fence ${run.fence}): ${act.end} after ${act.ms} ms`)
  return act
}

async function perform(
  process: Process,
  { ms, end }: Act,
  { signal, fence, type, key, publish }: TaskContext,
  padding: string | undefined,
): Promise<unknown> {
  if (end === 'hang') return new Promise(() => undefined)
  await process.clock.sleep(ms, end === 'deaf' ? undefined : signal)
  switch (end) {
    case 'succeed':
    case 'deaf':
      return { by: fence, ...(padding !== undefined && { padding }) }
    case 'child':
      return publish({ type, key: `${key}-child`, input: { nonce: CHILD_NONCE, acts: [] } })
    case 'release':
      return new Release()
    case 'fail':
      throw new Error('it did not work')
    case 'fatal':
      throw new Fatal('it never will')
    case 'later':
      throw new RetryLater(700)
    case 'crash':
      process.kill('its handler crashed')
      return new Promise(() => undefined)
  }
}
