import type { Task } from '../../core/task/task.ts'

const GONE = { ok: false, reason: 'gone' } as const

/**
 * The decision about one birth of a key, for `transact`. It asks `decide` while the stored head is of the birth that the
 * caller saw. Otherwise it refuses with `gone`: nothing that was meant for one birth may change a later one.
 */
export function ofSameBirth<Decided>(
  { born }: Pick<Task, 'born'>,
  decide: (current: Task) => Decided,
): (current: Task | undefined) => Decided | typeof GONE {
  return current => (current?.born === born ? decide(current) : GONE)
}
