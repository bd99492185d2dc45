import * as z from 'zod'
import { defineTask } from '../../../shared/define/define-task.ts'
import type { TaskContext, TaskDefinition } from '../../../shared/define/definitions.ts'
import { Fatal, Release, RetryLater } from '../../../shared/signals.ts'
import { type OddErrorName, oddError, oddFields, SECRET_PATH } from '../odd-errors.ts'
import { oddResult } from '../odd-results.ts'
import type { Act, Script as Scripted } from '../scenario.ts'
import type { HistoryEvent } from '../world/history.ts'
import type { Process } from '../world/process.ts'
import { START, type World } from '../world/world.ts'

/** What each run of each piece does, one act per run. When the acts are used up, further runs succeed. */
export type Script = {
  /** The act of a run that starts now. */
  next(run: Pick<Begun, 'input' | 'idempotencyKey' | 'piece'>): Act
}

const ACTS = z.array(
  z.object({
    ms: z.number(),
    end: z.string(),
    until: z.number().optional(),
    delay: z.string().optional(),
    laterMs: z.number().optional(),
    shop: z.string().optional(),
    odd: z.string().optional(),
    gives: z.string().optional(),
    repeats: z.array(z.object({ end: z.string(), nth: z.number() })).optional(),
  }),
)

/** Input of a simulated task: what its runs do, and a number that identifies the publish. */
const SCRIPT = z.object({
  nonce: z.number(),
  acts: ACTS,
  pieces: z.record(z.string(), ACTS).optional(),
  padding: z.string().optional(),
  shop: z.string().optional(),
  card: z.object({ number: z.string() }).optional(),
  box: z.unknown().optional(),
})

/** An input that is an array holds the handed-on results after the script. */
const INPUT = z.union([SCRIPT, z.array(z.unknown())])

type Begun = Omit<Extract<HistoryEvent, { readonly what: 'began' }>, 'at' | 'by' | 'what'>

/** The nonce of the task that a handler publishes itself. */
export const CHILD_NONCE = -2
/** The nonce of an input that a run gives to the next stage. */
export const NEXT_NONCE = -4

/** The delay that `later` sets unless the act names one. */
export const LATER_MS = 700

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

/** The script in an input; undefined for an input without one. */
export function scriptIn(input: unknown): Scripted | undefined {
  const scripts = [input].flat().flatMap(one => {
    const parsed = SCRIPT.safeParse(one)
    return parsed.success ? [parsed.data as unknown as Scripted] : []
  })
  return scripts[0]
}

/** The handler of a type in a process. It records that it began, and does what the script says. */
export function handlerIn(
  world: World,
  process: Process,
  script: Script,
  type: string,
  workerId: () => string,
): TaskDefinition {
  return defineTask(type, {
    input: INPUT,
    redact: [SECRET_PATH],
    run: async (input, context) => {
      const { taskId: id, fence, idempotencyKey, previous, params } = context
      const piece = pieceIn(context)
      const run = { id, fence, workerId: workerId(), input, idempotencyKey, piece, previous, params }
      const act = beginAct(world, process, script, run)
      const padding = 'padding' in input ? input.padding : undefined
      const outcome = await perform(world, process, act, context, padding)
      recordEnd(world, process, run, act)
      if (act.odd) failOddly(act.odd, secretIn(input), context)
      return outcome()
    },
  }) as TaskDefinition
}

/** The secret in an input, however deep it is. */
function secretIn(input: object): string | undefined {
  return /"card":\{"number":"(\d+)"/.exec(JSON.stringify(input))?.[1]
}

/** Logs what a handler must not log, and throws what is not a plain error. */
function failOddly(odd: OddErrorName, secret = '', { log }: TaskContext): never {
  if (secret !== '') log.info(`pays with ${secret}`, oddFields(secret))
  throw oddError(odd).thrown(secret)
}

function pieceIn({ step, direction, stage }: TaskContext): string | undefined {
  return direction === 'undo' ? `undo ${step}` : (step ?? stage)
}

/** The name of the next stage: `s1`, `s2`, and so on. */
export function stageAfter(stage: string | undefined): string {
  return `s${Number(stage?.slice(1) ?? 0) + 1}`
}

/** Records the start of a run, and returns its act. */
export function beginAct(world: World, process: Process, script: Script, run: Begun): Act {
  const { history, timeline } = world
  const at = timeline.now()
  history.record({ at, by: process.name, what: 'began', ...run })
  const act = script.next(run)
  history.note(at, process.name, () => `runs ${run.id} (fence ${run.fence}): ${act.end} after ${act.ms} ms`)
  return act
}

/** Records that the handler of a run has ended. Its worker then reports that end. */
export function recordEnd(
  world: World,
  process: Process,
  { id, fence }: Pick<Begun, 'id' | 'fence'>,
  act: Act,
) {
  const at = world.timeline.now()
  const retryInMs = retryInMsOf(act)
  const { odd, gives } = act
  // A result that cannot be stored fails the task for good.
  const end = gives && oddResult(gives).says !== undefined ? 'fatal' : act.end
  const ended = {
    id,
    fence,
    end,
    ...(retryInMs !== undefined && { retryInMs }),
    ...(odd && { odd }),
    ...(gives && { gives }),
  }
  world.history.record({ at, by: process.name, what: 'ended', ...ended })
}

/** The delay that the act sets for the retry; undefined where it sets none, or an illegal one. */
function retryInMsOf({ end, delay, laterMs = LATER_MS }: Act): number | undefined {
  return end === 'later' && delay === undefined ? laterMs : undefined
}

/** How long a run that starts now takes. */
export function durationMs(world: World, { ms, until }: Act): number {
  return until === undefined ? ms : Math.max(ms, START + until - world.timeline.now())
}

/** Does what the act says, and returns how the handler then ends. */
async function perform(
  world: World,
  process: Process,
  act: Act,
  context: TaskContext,
  padding: string | undefined,
): Promise<() => unknown> {
  const { signal, fence, type, key, taskId, publish } = context
  const { end } = act
  if (end === 'hang') return new Promise(() => undefined)
  await process.clock.sleep(durationMs(world, act), end === 'deaf' ? undefined : signal)
  const result = { by: fence, of: taskId, ...(padding !== undefined && { padding }) }
  if (end === 'child') await publish({ type, key: `${key}-child`, input: { nonce: CHILD_NONCE, acts: [] } })
  if (end === 'crash') {
    process.kill('its handler crashed')
    return new Promise(() => undefined)
  }
  return () => ended(act, context, { result, padding })
}

function ended(
  { end, delay, laterMs, shop, gives }: Act,
  { stage, next }: TaskContext,
  { result, padding }: { readonly result: unknown; readonly padding: string | undefined },
): unknown {
  const delayMs = delay === undefined ? undefined : Number(delay)
  const releasedForMs = delayMs ?? laterMs
  switch (end) {
    case 'next':
      return next(stageAfter(stage), {
        result,
        ...(delayMs !== undefined && { delayMs }),
        ...(shop !== undefined && { input: { nonce: NEXT_NONCE, acts: [], shop, padding } }),
      })
    case 'release':
      return new Release(...(releasedForMs === undefined ? [] : [releasedForMs]))
    case 'fail':
      throw new Error('it did not work')
    case 'fatal':
      throw new Fatal('it never will')
    case 'later':
      throw new RetryLater(delayMs ?? laterMs ?? LATER_MS)
    default:
      return gives === undefined ? result : oddResult(gives).given()
  }
}
