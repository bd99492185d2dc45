import { type Change, isOfTask } from '../../core/change.ts'
import { type FairLine, lineName, presentTurn, turnAt, turnRange } from '../../core/place/claim-order.ts'
import { type LineEntry, lineEntry, movedToTurn, readyPlace } from '../../core/place/place.ts'
import { shardNumbers, type TaskType, withTenants } from '../../core/types/task-type.ts'
import { BatonError } from '../../core/values/values.ts'
import type { TenantTurns } from '../../ports/stores.ts'
import type { ChangeHook, Moment, System } from '../kernel/system.ts'
import { isWithin, momentOf, processMemory } from '../kernel/system.ts'
import { applyTypeChange, changeType } from '../types/change-type.ts'
import { cachedTypeReader, type TypeReader } from '../types/type-cache.ts'

/**
 * Fairness between tenants: the tasks of one line are claimed in the order of their turns, and each task takes the next
 * turn of its tenant. A line holds the tasks of one type; where the type is ordered by priority, the tasks of one priority.
 * The core says that a change brings a task into a line. This room says which turn the task gets.
 *
 * The last turn of each tenant is stored in one small item per line and tenant, with a TTL. A change that brings a task
 * into a line first reserves the tenant's next turn there, at one write unit. Concurrent changes of one tenant in a
 * process share that write. A turn is wasted when the process dies between the two writes. When the change loses its
 * race, the process keeps the turn for the tenant's next task.
 *
 * The front of a line is the smallest waiting turn. It is read from the index, as the first turn of each shard. While limits
 * hold back the tasks at that turn, a claim notes how far claims have come, and the noted turn is the front. No item is written
 * by all tenants, and no item grows with their number.
 */

/** Gives each task that a change brings into a line its turn. */
export const FAIR_TURN_HOOK: ChangeHook = { prepare: withReservedTurn, refused: keepUnusedTurn }

/** The change, with the task's turn if it brings the task into a line. */
async function withReservedTurn(system: System, change: Change): Promise<Change> {
  const entry = isOfTask(change) && lineEntry(change.before, change.after)
  if (!entry) return change
  const front = await frontOf(system, entry.line)
  const { keptTurn } = entry
  const turn = keptTurn === undefined ? await reserveTurn(system, entry, front) : Math.max(keptTurn, front)
  return { ...change, after: movedToTurn(change.after, entry.line, turn) }
}

/** Keeps a turn for the tenant's next task, because the change that reserved it was not written. */
function keepUnusedTurn(system: System, change: Change): void {
  if (!isOfTask(change)) return
  const entry = lineEntry(change.before, change.after)
  if (!entry || entry.keptTurn !== undefined) return
  const turn = turnAt(entry.line, change.after.place?.order ?? '')
  if (turn !== undefined) giveTurnBack(system, entry, turn)
}

type Marking = Pick<System, 'types' | 'clock' | 'messages' | 'log'>

/** The types that this process knows to be marked. */
const knownMarked = processMemory(() => new Set<string>())

/**
 * Marks a type as fair before its first task with a fairness key is written. From then on each task of the type takes a
 * turn: of its tenant, or of the one tenant that all tasks without a key share. For a flow, the types of its steps are
 * marked. Each type is written once, ever. Tasks that wait already get their turns in the background.
 */
export async function markFair(system: Marking, typeOf: TypeReader, type: TaskType): Promise<void> {
  const known = knownMarked(system.types)
  const steps = (type.configuration.steps ?? []).flatMap(step => [step.do, ...(step.undo ? [step.undo] : [])])
  const working = steps.length > 0 ? await Promise.all(steps.map(action => typeOf(action.type))) : [type]
  for (const one of working) {
    if (!one || known.has(one.type)) continue
    if (!one.isFair) await mark(system, one)
    known.add(one.type)
  }
}

/**
 * Marks the type and starts the background job. If the job's message cannot be sent, the sweeper sends it, since the type
 * records the change.
 */
async function mark(system: Marking, { type }: TaskType): Promise<void> {
  const changed = await changeType(
    system,
    type,
    stored => (stored && !stored.isFair ? withTenants(stored) : undefined),
    system.types.markFair,
  )
  await applyTypeChange(system, changed).catch(error => {
    system.log.warn('the job that gives waiting tasks their turns was not sent; the sweeper sends it', {
      type,
      error,
    })
  })
}

/** A tenant's item expires after this time. By then its last turn is past, or its first task has waited for a week. */
const TURNS_LIFE_MS = 7 * 86_400_000
/**
 * A tenant that joined more than this many turns beyond the front did so while the index did not show the waiting tasks. It joins again.
 */
const FAR_TURNS = 10_000
/** A round is one try to reserve turns. It is lost when another process was faster for the same tenant. */
const ROUNDS_MAX = 20
const CACHED_TENANTS_MAX = 1_000
/** At most this many unused turns of a tenant are kept. */
const SPARE_TURNS_MAX = 100

type Tenant = Pick<LineEntry, 'line' | 'tenant'>

type Asking = { readonly front: number; resolve(turn: number): void; reject(error: unknown): void }

/** What a process remembers of the tenants that it reserves turns for, by line and tenant. */
const bookOf = processMemory(() => ({
  known: new Map<string, TenantTurns>(),
  spare: new Map<string, number[]>(),
  asking: new Map<string, Asking[]>(),
}))

type Book = ReturnType<typeof bookOf>

/** The name of a tenant's item. DynamoDB takes no ill-formed text in a key, so the tenant is made well-formed. */
function nameOf({ line, tenant }: Tenant): string {
  return `${lineName(line)}#${tenant.toWellFormed()}`
}

/**
 * Reserves the next turn of a tenant, but none before `front`. Concurrent calls for one tenant in a process share a write,
 * and get their turns in the order of the calls.
 */
async function reserveTurn(system: System, tenant: Tenant, front: number): Promise<number> {
  const book = bookOf(system.turns)
  const name = nameOf(tenant)
  const spare = book.spare.get(name)?.shift()
  if (spare !== undefined && spare >= front) return spare
  return new Promise((resolve, reject) => {
    const asking = book.asking.get(name)
    book.asking.set(name, [...(asking ?? []), { front, resolve, reject }])
    if (!asking) void serve(system, name, book)
  })
}

/** Keeps an unused turn for the tenant's next task. */
function giveTurnBack(system: System, tenant: Tenant, turn: number): void {
  const { spare } = bookOf(system.turns)
  const name = nameOf(tenant)
  if (spare.size >= CACHED_TENANTS_MAX) spare.clear()
  spare.set(name, [...(spare.get(name) ?? []), turn].sort((a, b) => a - b).slice(0, SPARE_TURNS_MAX))
}

async function serve(system: System, name: string, book: Book): Promise<void> {
  for (;;) {
    // Callers that resume at the same moment, such as the tasks of a batch, join this write.
    await Promise.resolve()
    const asking = book.asking.get(name) ?? []
    if (asking.length === 0) break
    book.asking.set(name, [])
    const front = Math.max(...asking.map(one => one.front))
    try {
      const first = await reserve(system, name, book, { count: asking.length, front })
      for (const [nth, { resolve }] of asking.entries()) resolve(first + nth)
    } catch (error) {
      for (const { reject } of asking) reject(error)
    }
  }
  book.asking.delete(name)
}

type Wanted = { readonly count: number; readonly front: number }

/** Reserves `count` turns in a row and returns the first. Costs one write, unless another process reserves at the same time. */
async function reserve(system: System, name: string, { known }: Book, wanted: Wanted): Promise<number> {
  let stored = known.get(name) ?? (await system.turns.of(name))
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const { first, current } = await attempt(system, name, stored, wanted)
    if (known.size >= CACHED_TENANTS_MAX) known.clear()
    known.set(name, current)
    if (first !== undefined) return first
    stored = current
  }
  throw new BatonError(
    'contended',
    `no turn of ${name} was reserved: other processes were faster at every try`,
  )
}

/** One attempt: the first turn, and the state that is stored afterwards. The turn is undefined when `stored` was outdated. */
async function attempt(
  { turns, clock }: System,
  name: string,
  stored: TenantTurns | undefined,
  { count, front }: Wanted,
): Promise<{ readonly first: number | undefined; readonly current: TenantTurns }> {
  const expiresAt = clock.now() + TURNS_LIFE_MS
  const far = front + FAR_TURNS
  if (!stored || stored.last < front || stored.joined > far) {
    const joinedByAnother = await turns.join(name, { front, count, far }, expiresAt)
    if (joinedByAnother) return { first: undefined, current: joinedByAnother }
    return { first: front, current: { last: front + count - 1, joined: front } }
  }
  const current = await turns.advance(name, count, expiresAt)
  const first = current.last - count + 1
  // An item that expired meanwhile counts from 0 again.
  return { first: first >= front ? first : undefined, current }
}

/**
 * A process caches a front for this long. So two tenants that enter through different processes may differ by the turns claimed in this
 * time. When the line has just run empty, they may differ by the turns that `presentTurn` advances in this time.
 */
const FRONT_LIFE_MS = 250
const CACHED_LINES_MAX = 1_000
/** A noted front is kept as long as a task may wait behind it. */
const NOTE_LIFE_MS = 7 * 86_400_000
/** A process notes the front of a line at most once in this time. */
const NOTE_INTERVAL_MS = 1_000
/** The front is noted only when tasks that limits hold back wait at least this many turns before it. */
const NOTE_AFTER_TURNS = 100

/** A front as it was read. `waits` says whether any turn waits. If none does, the front is the turn of the present time. */
type Front = { readonly turn: number; readonly waits: boolean; readonly readAt: Moment }

const memoryOf = processMemory(() => ({
  reads: new Map<string, Promise<Front>>(),
  fronts: new Map<string, Front>(),
  notedAt: new Map<string, Moment>(),
}))

/**
 * The turn at which a tenant without earlier turns enters a line: the smallest waiting turn, but none before the front
 * that claimers have noted.
 *
 * Costs one read of each shard and of the noted front. While tasks wait, a process reads at most every 250 ms. While none waits,
 * it reads for each task, since it must see at once what other processes publish.
 */
async function frontOf(system: System, line: FairLine): Promise<number> {
  const { reads, fronts } = memoryOf(system.tasks)
  const name = lineName(line)
  const known = fronts.get(name)
  const isFresh = known !== undefined && isWithin(system.clock, known.readAt, FRONT_LIFE_MS)
  if (known?.waits && isFresh) return known.turn
  const read = reads.get(name) ?? readFront(system, line).finally(() => reads.delete(name))
  reads.set(name, read)
  const found = await read
  // The index may not show yet which tasks this process has published since the line ran empty.
  const front = !found.waits && isFresh ? known : found
  if (fronts.size >= CACHED_LINES_MAX) fronts.clear()
  fronts.set(name, front)
  return front.turn
}

async function readFront(system: System, line: FairLine): Promise<Front> {
  const { tasks, turns, clock } = system
  const readAt = momentOf(clock)
  const type = await cachedTypeReader(system)(line.type)
  const shards = type ? shardNumbers(type) : []
  const [noted, ...firsts] = await Promise.all([
    turns.front(lineName(line)),
    ...shards.map(shard =>
      tasks.page({
        index: 'place',
        partition: readyPlace(line.type, shard),
        ...turnRange(line),
        limit: 1,
      }),
    ),
  ])
  const waiting = firsts
    .flatMap(({ entries }) => entries)
    .flatMap(({ sort }) => turnAt(line, String(sort)) ?? [])
  const first = waiting.length > 0 ? Math.min(...waiting) : presentTurn(readAt.wall)
  return { turn: Math.max(first, noted ?? first), waits: waiting.length > 0, readAt }
}

/**
 * Notes that the claims of a line have come to a turn, when tasks that limits hold back still wait at its beginning.
 * Without the note, a new tenant would enter level with those tasks, ahead of every tenant that has been served since. Never
 * fails: the next claim notes the front again.
 */
export async function noteFront(
  system: System,
  line: FairLine,
  { passedOver, claimed }: { readonly passedOver: number; readonly claimed: number },
): Promise<void> {
  if (claimed - passedOver < NOTE_AFTER_TURNS) return
  const { notedAt } = memoryOf(system.tasks)
  const name = lineName(line)
  const last = notedAt.get(name)
  if (last && isWithin(system.clock, last, NOTE_INTERVAL_MS)) return
  if (notedAt.size >= CACHED_LINES_MAX) notedAt.clear()
  notedAt.set(name, momentOf(system.clock))
  await system.turns.noteFront(name, claimed, system.clock.now() + NOTE_LIFE_MS).catch(error => {
    system.log.warn('the front of a line was not noted', { line: name, error })
  })
}
