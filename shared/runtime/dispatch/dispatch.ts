/**
 * A dispatch is a message on a type's queue that says which task may be claimed. This room serves batches of
 * dispatches in a Lambda function: it claims, runs, passes messages on to other workers, and says which messages must
 * come again. Dispatches of types that have an order are tickets, each of which stands for the best task that waits
 * (see `serve-tickets.ts`).
 */
import { startsAt } from '../../core/place/place.ts'
import type { Claimer } from '../../core/run/claim.ts'
import { workOf } from '../../core/task/piece.ts'
import type { TaskDefinition } from '../../define/define-task.ts'
import type { Clock } from '../../ports/machine.ts'
import { sleepUntil } from '../kernel/moment.ts'
import type { System } from '../kernel/system.ts'
import { isTicket } from '../ready/ready.ts'
import { runTask } from '../run/run.ts'
import type { cachedTypeReader } from '../types/type-cache.ts'
import {
  type DispatchTools,
  earlyDelaySeconds,
  forwardedDispatch,
  isChainOver,
  isSuspect,
  notDueDelaySeconds,
  PASS_DELAY_S,
  PASSES_MAX,
  type ReceivedDispatch,
  sendBack,
  serveOrRedeliver,
  toolsFor,
  withLongestChain,
} from './received-dispatch.ts'
import { serveTickets } from './serve-tickets.ts'

type ServingTools = {
  readonly definition: TaskDefinition
  readonly typeOf: ReturnType<typeof cachedTypeReader>
  /** By the system's clock: when runs are told to stop, and end as timed out. */
  readonly stopAt: number
}

/**
 * Serves a batch of dispatches of one type, side by side; answers the ids of the messages that must come again. A task
 * whose last run took its process down runs alone: the rest of its batch is sent back first, to be received by others at
 * once.
 */
export async function serveDispatches(
  system: System,
  batch: readonly ReceivedDispatch[],
  claimer: Claimer,
  { stopAt, ...rest }: ServingTools,
): Promise<string[]> {
  const received = withLongestChain(batch)
  const suspect = received.find(({ seen }) => isSuspect(seen))
  const served = suspect ? [suspect] : received
  const others = received.filter(one => !served.includes(one))
  const over = new AbortController()
  const tools = { ...rest, outOfTime: signalAt(system.clock, stopAt, over.signal) }
  try {
    const unsent = await sendBackAll(system, withoutRepeated(others, served))
    const { early, tokens, named } = await sorted(system, served, tools)
    const failed = await Promise.all([
      ...early.map(one => serveOrRedeliver(system, one, () => sendBackEarly(system, one))),
      ...tokens.map(together => serveTickets(system, together, claimer, tools)),
      ...named.map(one => serveOrRedeliver(system, one, () => runNamed(system, one, claimer, tools))),
    ])
    return [...unsent, ...failed.flat()]
  } finally {
    over.abort()
  }
}

/**
 * A suspect is sent back once, however often it has come: each message that is sent back may be sent twice, and among ten of
 * them, one of which is served at a time, that would make ever more.
 */
function withoutRepeated(
  received: readonly ReceivedDispatch[],
  served: readonly ReceivedDispatch[],
): ReceivedDispatch[] {
  const all = [...served, ...received]
  const isFirst = (one: ReceivedDispatch) => all.find(other => isSameDispatch(one, other)) === one
  return received.filter(one => !isSuspect(one.seen) || one.seen.options.concurrency > 1 || isFirst(one))
}

function isSameDispatch({ seen: a }: ReceivedDispatch, { seen: b }: ReceivedDispatch): boolean {
  return a.id === b.id && a.born === b.born && a.revision === b.revision
}

/** Aborts at `time`, unless `over` comes first. */
function signalAt(clock: Clock, time: number, over: AbortSignal): AbortSignal {
  const reached = new AbortController()
  void clock.sleep(time - clock.now(), over).then(() => {
    if (!over.aborted) reached.abort()
  })
  return reached.signal
}

/** Message ids of those that could not be sent back, and must come again by themselves. */
async function sendBackAll(system: System, received: readonly ReceivedDispatch[]): Promise<string[]> {
  if (received.length === 0) return []
  if (isChainOver(system, received)) return received.map(({ messageId }) => messageId)
  const failures = await system.messages.dispatch(received.map(one => forwardedDispatch(one, 0)))
  return failures.flatMap(({ index }) => received[index]?.messageId ?? [])
}

type Sorted = {
  readonly early: readonly ReceivedDispatch[]
  /** Those that can be claimed for together. */
  readonly tokens: ReadonlyArray<readonly ReceivedDispatch[]>
  readonly named: readonly ReceivedDispatch[]
}

/** Of tokens, those whose time has come go together, by their type; each of the others waits for its own. */
async function sorted(
  system: System,
  received: readonly ReceivedDispatch[],
  { typeOf }: DispatchTools,
): Promise<Sorted> {
  const now = system.clock.now()
  const early = received.filter(({ seen }) => earlyDelaySeconds(seen, now) !== undefined)
  const inTime = received.filter(one => !early.includes(one))
  const areTokens = await Promise.all(
    inTime.map(async ({ seen }) => isTicket(seen, await typeOf(workOf(seen).type))),
  )
  const tokens = inTime.filter((_, index) => areTokens[index])
  const groups = Map.groupBy(tokens, ({ messageId, seen }) =>
    startsAt(seen) <= now ? workOf(seen).type : `later ${messageId}`,
  )
  return { early, tokens: [...groups.values()], named: inTime.filter((_, index) => !areTokens[index]) }
}

async function sendBackEarly(system: System, one: ReceivedDispatch): Promise<void> {
  await sendBack(system, one, earlyDelaySeconds(one.seen, system.clock.now()) ?? 0)
}

async function runNamed(
  system: System,
  one: ReceivedDispatch,
  claimer: Claimer,
  tools: DispatchTools,
): Promise<void> {
  const { seen, passedOn = 0 } = one
  await sleepUntil(system.clock, seen.dueAt)
  const delaySeconds = notDueDelaySeconds(seen, system.clock.now())
  if (delaySeconds !== undefined) return sendBack(system, one, delaySeconds)
  const report = await runTask(system, seen, claimer, await toolsFor(seen, tools))
  // Another worker is about to claim it, and may die. After the last pass it has claimed the task, or never will.
  const isPassable = !report.ran && report.why === 'being-claimed' && passedOn < PASSES_MAX
  if (isPassable) await sendBack(system, one, PASS_DELAY_S, passedOn + 1)
}
