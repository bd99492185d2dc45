import * as z from 'zod'
import { defineTask, type TaskDefinition } from '../../../shared/define/define-task.ts'
import type { TaskContext } from '../../../shared/define/task-context.ts'
import { Fatal, Release, RetryLater } from '../../../shared/signals.ts'
import type { Act, Script as Scripted } from '../scenario.ts'
import type { Happening } from '../world/history.ts'
import type { Process } from '../world/process.ts'
import type { World } from '../world/world.ts'

/** What the runs of each piece of work do, one act after the other; when the acts are used up they succeed. */
export type Script = {
  /** The act of a run that begins now. */
  next(run: Pick<Begun, 'input' | 'idempotencyKey' | 'piece'>): Act
}

const ACTS = z.array(z.object({ ms: z.number(), end: z.string() }))

/** Input of a simulated task: what its runs do, and a number that tells one publish from another. */
const SCRIPT = z.object({
  nonce: z.number(),
  acts: ACTS,
  pieces: z.record(z.string(), ACTS).optional(),
  padding: z.string().optional(),
})

/** An array has what was handed on beside it. */
const INPUT = z.union([SCRIPT, z.array(z.unknown())])

type Begun = Omit<Extract<Happening, { readonly what: 'began' }>, 'at' | 'by' | 'what'>

/** What a handler publishes itself has this one. */
export const CHILD_NONCE = -2

const SUCCEED: Act = { ms: 20, end: 'succeed' }

export function createScript(): Script {
  const begun = new Map<string, number>()
  return {
    next: ({ input, idempotencyKey, piece }) => {
      const count = begun.get(idempotencyKey) ?? 0
      begun.set(idempotencyKey, count + 1)
      const script = scriptIn(input)
      const acts = piece === undefined ? script?.acts : script?.pieces?.[piece]
      return acts?.[count] ?? SUCCEED
    },
  }
}

/** What the scenario has its runs do; undefined for an input of another kind. */
export function scriptIn(input: unknown): Scripted | undefined {
  const scripts = [input].flat().flatMap(one => {
    const parsed = SCRIPT.safeParse(one)
    return parsed.success ? [parsed.data as unknown as Scripted] : []
  })
  return scripts[0]
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
      const { taskId: id, fence, idempotencyKey, previous, params } = context
      const piece = pieceIn(context)
      const run = { id, fence, workerId: workerId(), input, idempotencyKey, piece, previous, params }
      const act = beginAct(world, process, script, run)
      const padding = 'padding' in input ? input.padding : undefined
      return perform(process, act, context, padding)
    },
  }) as TaskDefinition
}

function pieceIn({ step, direction, stage }: TaskContext): string | undefined {
  return direction === 'undo' ? `undo ${step}` : (step ?? stage)
}

/** The stage after this one: `s1`, `s2`, and so on. */
export function stageAfter(stage: string | undefined): string {
  return `s${Number(stage?.slice(1) ?? 0) + 1}`
}

/** A run begins: the history is told, and the script says what it does. */
export function beginAct(world: World, process: Process, script: Script, run: Begun): Act {
  const { history, timeline } = world
  const at = timeline.now()
  history.tell({ at, by: process.name, what: 'began', ...run })
  const act = script.next(run)
  history.note(at, process.name, () => `runs ${run.id} (fence ${run.fence}): ${act.end} after ${act.ms} ms`)
  return act
}

async function perform(
  process: Process,
  { ms, end }: Act,
  { signal, fence, type, key, taskId, stage, publish, next }: TaskContext,
  padding: string | undefined,
): Promise<unknown> {
  if (end === 'hang') return new Promise(() => undefined)
  await process.clock.sleep(ms, end === 'deaf' ? undefined : signal)
  const result = { by: fence, of: taskId, ...(padding !== undefined && { padding }) }
  switch (end) {
    case 'succeed':
    case 'deaf':
      return result
    case 'next':
      return next(stageAfter(stage), { result })
    case 'child':
      await publish({ type, key: `${key}-child`, input: { nonce: CHILD_NONCE, acts: [] } })
      return result
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
