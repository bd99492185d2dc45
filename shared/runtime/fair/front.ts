import { type FairLine, lineName, presentTurn, turnAt, turnRange } from '../../core/fair/fair.ts'
import { readyPlace } from '../../core/place/place-names.ts'
import { shardNumbers } from '../../core/types/task-type.ts'
import type { TaskStore } from '../../ports/stores.ts'
import { isWithin, type Moment, momentOf } from '../kernel/moment.ts'
import type { System } from '../kernel/system.ts'
import { cachedTypeReader } from '../types/type-cache.ts'

/**
 * A front is remembered for so long. Turns of two tenants that come to different processes differ by what is claimed in
 * this time; where the line has just run empty, by this time in turns.
 */
const FRONT_LIFE_MS = 250
const MAX_ENTRIES = 1_000
/** A note is kept as long as anything may wait behind it. */
const NOTE_LIFE_MS = 7 * 86_400_000
/** A process notes the front of a line at most so often, */
const NOTE_INTERVAL_MS = 1_000
/** and only when tasks that limits hold back stand so many turns before it. */
const NOTE_AFTER_TURNS = 100

/** `waits`: whether any turn waits; else the front is the present time of `readAt`. */
type Front = { readonly turn: number; readonly waits: boolean; readonly readAt: Moment }

type Memory = {
  readonly reads: Map<string, Promise<Front>>
  readonly fronts: Map<string, Front>
  readonly notedAt: Map<string, Moment>
}

const memories = new WeakMap<TaskStore, Memory>()

function memoryOf({ tasks }: Pick<System, 'tasks'>): Memory {
  const memory = memories.get(tasks) ?? { reads: new Map(), fronts: new Map(), notedAt: new Map() }
  memories.set(tasks, memory)
  return memory
}

/**
 * The turn at which a tenant without earlier turns enters a line: the smallest that waits, and none before the front that
 * claimers have noted. Costs a read of each shard, and of the note, at most every 250 ms in a process while something waits;
 * while nothing does, as often as tasks come, since what others publish now must be seen at once.
 */
export async function frontOf(system: System, line: FairLine): Promise<number> {
  const { reads, fronts } = memoryOf(system)
  const name = lineName(line)
  const known = fronts.get(name)
  const isFresh = known !== undefined && isWithin(system.clock, known.readAt, FRONT_LIFE_MS)
  if (known?.waits && isFresh) return known.turn
  const read = reads.get(name) ?? readFront(system, line).finally(() => reads.delete(name))
  reads.set(name, read)
  const found = await read
  // The index may not show yet what this process has published since the line ran empty.
  const front = !found.waits && isFresh ? known : found
  if (fronts.size >= MAX_ENTRIES) fronts.clear()
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
 * Notes that a line has come to this turn, where tasks that limits hold back wait at its beginning: a tenant that begins to
 * publish would else enter beside those, before every tenant that has been served since. Never fails: the next claim
 * notes it again.
 */
export async function noteFront(
  system: System,
  line: FairLine,
  { passedOver, claimed }: { readonly passedOver: number; readonly claimed: number },
): Promise<void> {
  if (claimed - passedOver < NOTE_AFTER_TURNS) return
  const { notedAt } = memoryOf(system)
  const name = lineName(line)
  const last = notedAt.get(name)
  if (last && isWithin(system.clock, last, NOTE_INTERVAL_MS)) return
  if (notedAt.size >= MAX_ENTRIES) notedAt.clear()
  notedAt.set(name, momentOf(system.clock))
  await system.turns.noteFront(name, claimed, system.clock.now() + NOTE_LIFE_MS).catch(error => {
    system.log.warn('the front of a line was not noted', { line: name, error })
  })
}
