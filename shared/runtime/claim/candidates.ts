import { byClaimOrder, orderOf } from '../../core/place/place.ts'
import { isTargeted, type Task } from '../../core/task/task.ts'
import type { ReadyTasks } from '../ready/ready.ts'

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
 * whose tasks alternate, targets come first.
 */
export function withTargets(
  found: readonly Task[],
  targets: readonly Task[],
  isInOrder: boolean,
): { readonly next: readonly Task[]; readonly targets: readonly Task[] } {
  const last = isInOrder ? found.toSorted(byClaimOrder).at(-1) : undefined
  if (!last) return { next: [...targets, ...found], targets: [] }
  const isNext = (task: Task) => orderOf(task) <= orderOf(last)
  const next = [...targets.filter(isNext), ...found].sort(byClaimOrder)
  return { next, targets: targets.filter(task => !isNext(task)) }
}
