import { type FairLine, lineName, presentTurn, turnAt, turnRange } from '../../core/place/claim-order.ts'
import { readyPlace } from '../../core/place/place-names.ts'
import { shardNumbers } from '../../core/types/task-type.ts'
import { isWithin, type Moment, momentOf } from '../kernel/moment.ts'
import type { System } from '../kernel/system.ts'
import { processMemory } from '../kernel/timed-cache.ts'
import { cachedTypeReader } from '../types/type-cache.ts'

/**
 * A process caches a front for this long. So two tenants that enter through different processes may differ by the turns
 * claimed in this time. When the line has just run empty, they may differ by the turns that `presentTurn` advances in this
 * time.
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
export async function frontOf(system: System, line: FairLine): Promise<number> {
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
 * Without the note, a new tenant would enter beside those tasks, ahead of every tenant that has been served since. Never
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
