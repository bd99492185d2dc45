import { byClaimOrder, orderOf } from '../../core/place/place.ts'
import type { Claimer } from '../../core/run/claim.ts'
import { isTargeted, type Task } from '../../core/task/task.ts'
import type { TaskType } from '../../core/types/task-type.ts'
import { isInvocation } from '../../core/worker.ts'
import { processMemory, type System } from '../kernel/system.ts'
import type { Position, ReadyTasks } from '../place/ready.ts'

/** The tasks that one call may claim, one after the other: ready tasks as the indexes show them, and the call's targets. */
export type Candidates = {
  /** The next task. Reads about `toRead` more heads when none is left. With 0 it reads none and returns only targets. */
  next(toRead: number): Promise<Task | undefined>
  /**
   * Begins again with a new window, and returns how many tasks it holds. A task that was read but not tried may be returned
   * again, if the ready places still show it.
   */
  scatter(window: number): Promise<number>
}

/** Candidates in the order of one type. Several types alternate instead, and then `isInOrder` is false. */
export function createCandidates(ready: ReadyTasks, named: readonly Task[], isInOrder: boolean): Candidates {
  let targets = named
  let read: readonly Task[] = []
  return {
    next: async toRead => {
      if (read.length === 0) {
        const found = toRead > 0 ? await ready.next(toRead) : []
        const merged = withTargets(found, targets, isInOrder)
        read = merged.next
        targets = merged.targets
      }
      const [first, ...others] = read
      read = others
      return first
    },
    scatter: window => {
      targets = [...targets, ...read.filter(isTargeted)].sort(byClaimOrder)
      read = []
      return ready.scatter(window)
    },
  }
}

/**
 * Merges the targets into the ready tasks by their order, and returns the targets behind these tasks apart. With several types,
 * whose tasks alternate, targets come first. The task of a ticket is a target, and is usually also among the ready tasks: it is returned
 * once, as its head was read just now.
 */
export function withTargets(
  found: readonly Task[],
  targets: readonly Task[],
  isInOrder: boolean,
): { readonly next: readonly Task[]; readonly targets: readonly Task[] } {
  const shown = new Set(found.map(({ id }) => id))
  const others = targets.filter(({ id }) => !shown.has(id))
  const last = isInOrder ? found.toSorted(byClaimOrder).at(-1) : undefined
  if (!last) return { next: [...others, ...found], targets: [] }
  const isNext = (task: Task) => orderOf(task) <= orderOf(last)
  const next = [...others.filter(isNext), ...found].sort(byClaimOrder)
  return { next, targets: others.filter(task => !isNext(task)) }
}

/**
 * How many tasks one attempt of a claim takes. The first attempt takes few: it shows whether other processes claim, too. While no
 * other process seems to claim, the attempts grow. When an attempt loses many claims to other processes, the next attempts
 * choose at random from a window of the first tasks, so that many concurrent claimers do not all write to the same tasks.
 */

/** The first attempt claims this share of the wanted tasks. */
const PROBE_SHARE = 1 / 16
/** While no other process seems to claim, each attempt is this many times as large as the last. */
const GROWTH = 2
/** Once other processes claim, each attempt claims this share of the wanted tasks. */
const SCATTERED_SHARE = 1 / 6
/** Attempts then choose at random from a window, which is this many times what all processes seem to claim together. */
const SPREAD = 4
/** When an attempt loses more than this share of its claims to other processes, the window is doubled. */
const LOST_SHARE_MAX = 0.3
/**
 * The widest window: a claim never passes over more open tasks than this. With this window, 20 clients that claim 50 at a time from 2,000
 * tasks lose 0.3 writes per task on the local cloud, and 0.45 with simulated latencies of AWS. Narrower windows lose more.
 */
const WINDOW_TASKS_MAX = 500

/** An attempt claims `size` tasks, from a window of that many tasks. Window 0: the first tasks, in their order. */
export type AttemptSize = { readonly size: number; readonly window: number }

/** How the next attempt chooses: as the last one did, or from a new window. */
type NextAttempt =
  | ({ readonly kind: 'same-window' } & AttemptSize)
  | { readonly kind: 'new-window'; readonly window: number }

export function firstAttempt(wanted: number): AttemptSize {
  return { size: Math.ceil(wanted * PROBE_SHARE), window: 0 }
}

/** The attempt after one that tried `tried` tasks and lost `lost` of them to other processes. */
export function nextAttempt(
  wanted: number,
  { size, window }: AttemptSize,
  { tried, lost }: { readonly tried: number; readonly lost: number },
): NextAttempt {
  if (lost > tried * LOST_SHARE_MAX) {
    const rivals = tried / Math.max(1, tried - lost)
    const wide = Math.max(2 * window, Math.ceil(SPREAD * scatteredSize(wanted) * rivals))
    return { kind: 'new-window', window: Math.min(WINDOW_TASKS_MAX, wide) }
  }
  const grown = lost === 0 ? size * GROWTH : size
  return { kind: 'same-window', size: withinWindow(grown, window), window }
}

/** The first attempt in a new window, in which the index shows `found` tasks. */
export function scatteredAttempt(wanted: number, window: number, found: number): AttemptSize {
  const size = Math.max(1, Math.ceil((scatteredSize(wanted) * found) / window))
  return { size: withinWindow(size, window), window }
}

function scatteredSize(wanted: number): number {
  return Math.ceil(wanted * SCATTERED_SHARE)
}

function withinWindow(size: number, window: number): number {
  return window > 0 ? Math.min(size, Math.ceil(window / SPREAD)) : size
}

/**
 * A call that claims examines a bounded number of tasks. More tasks than that may be at the front that its worker may not take: they
 * list a version that it lacks, or it has done its part of them. So the next call of such a worker in this process continues behind
 * the tasks that were examined, after a look at the front. It begins at the front alone again when it has come to the end of the line.
 *
 * The position is kept in memory only: it costs no unit, and a process that ends loses no more than its progress.
 */
type Continued = { readonly position: Position; readonly since: number }

/** How a call ended: it examined as many tasks as it may, it came to the end of the line, or anything else, such as a full answer. */
export type ReadEnd = 'examined-all-it-may' | 'at-end' | 'otherwise'

/** Calls that find tasks behind a position use it this long. Then tasks before it, which may have become claimable, have a turn. */
const CONTINUED_MS = 60_000
const WORKERS_MAX = 1_000

const memoryOf = processMemory(() => new Map<string, Continued>())

/** Where a call of the claimer for these types continues; undefined at the front. */
export function continuedAt(
  { tasks }: Pick<System, 'tasks'>,
  types: readonly TaskType[],
  claimer: Claimer,
): Position | undefined {
  return memoryOf(tasks).get(nameOf(types, claimer))?.position
}

/** Remembers where the next call continues, after a call that read up to `position`. */
export function rememberRead(
  { tasks, clock }: Pick<System, 'tasks' | 'clock'>,
  types: readonly TaskType[],
  claimer: Claimer,
  { end, position }: { readonly end: ReadEnd; readonly position: Position },
): void {
  const memory = memoryOf(tasks)
  const name = nameOf(types, claimer)
  const since = memory.get(name)?.since ?? clock.now()
  if (end === 'examined-all-it-may') memory.set(name, { position, since: clock.now() })
  else if (end === 'at-end' || clock.now() - since >= CONTINUED_MS) memory.delete(name)
  const [oldest] = memory.keys()
  if (memory.size > WORKERS_MAX && oldest !== undefined) memory.delete(oldest)
}

/** Invocations of one function may take the same tasks, so they continue each other's reads. */
function nameOf(types: readonly TaskType[], { workerId }: Claimer): string {
  return JSON.stringify([isInvocation(workerId) ? '' : workerId, ...types.map(({ type }) => type)])
}
