/**
 * What waits for an operator, and what callers last did about it.
 *
 * - Halted tasks: an undo has failed for good, or an owed callback cannot be published. The index `place` has them in partitions of their
 *   own, so reading them costs the same however many tasks have failed.
 * - Dead letters, counted by queue.
 * - One record of the last actions. It is replaced by each action, because operators act rarely. Work on many tasks is one bulk operation.
 */

import { HALTED_PLACES } from '../../core/place/halted.ts'
import { ATTENDED_RECORD } from '../../core/record-names.ts'
import type { OperationRecord } from '../../core/task/head-fields.ts'
import type { Task } from '../../core/task/task.ts'
import { groupBy, type Json } from '../../core/values/values.ts'
import { readEntries } from '../kernel/heads.ts'
import type { DiagnosticSystem, System } from '../kernel/system.ts'
import { listDeadLetters } from './dead-letters.ts'

const HALTED_SHOWN_MAX = 20
const COUNTED_MAX = 100
const ACTIONS_KEPT_MAX = 40
const ACTIONS_KEPT_MS = 14 * 86_400_000
const TRIES_MAX = 10

/** An action of a caller, and the task, type, schedule or queue that it was about. */
type AttendedAction = OperationRecord & { readonly subject?: string }

/** Reads halted tasks, the last ones first, and the newest dead letters. The counts stop at their bounds. */
export async function readAttention(system: DiagnosticSystem) {
  const [pages, letters, actions] = await Promise.all([
    Promise.all(HALTED_PLACES.map(partition => haltedIn(system, partition))),
    listDeadLetters(system, { limit: COUNTED_MAX }),
    readActions(system),
  ])
  const entries = pages.flatMap(page => page.entries)
  const newest = entries.sort((a, b) => (a.sort > b.sort ? -1 : 1)).slice(0, HALTED_SHOWN_MAX)
  const halted: Task[] = await readEntries(system, newest)
  const queues = [...groupBy(letters.letters, ({ queue }) => queue)]
  const found = { halted, haltedCount: entries.length, queues, moreDeadLetters: letters.next !== undefined }
  return { ...found, actions: [...actions].reverse() }
}

function haltedIn({ tasks }: System, partition: string) {
  return tasks.page({ index: 'place', partition, descending: true, limit: COUNTED_MAX })
}

async function readActions({ records }: Pick<System, 'records'>): Promise<readonly AttendedAction[]> {
  return ((await records.get(ATTENDED_RECORD)) ?? []) as readonly AttendedAction[]
}

/** Adds an action to the record of the last ones. The action has been done, so a failure is only logged. */
export async function recordAction(
  system: Pick<System, 'records' | 'clock' | 'log'>,
  action: Omit<AttendedAction, 'at'>,
): Promise<void> {
  const isRecorded = await addAction(system, { at: system.clock.now(), ...action }, TRIES_MAX).catch(
    () => false,
  )
  if (!isRecorded) system.log.warn('an action is not recorded', { ...action })
}

/** Whether the action was added, before others have come first so many times. */
async function addAction(
  { records }: Pick<System, 'records'>,
  action: AttendedAction,
  tries: number,
): Promise<boolean> {
  const seen = await records.get(ATTENDED_RECORD)
  const next = [...((seen ?? []) as readonly AttendedAction[]), action].slice(-ACTIONS_KEPT_MAX) as Json
  const expiresAt = action.at + ACTIONS_KEPT_MS
  const isWritten = seen
    ? await records.replace(ATTENDED_RECORD, next, seen, expiresAt)
    : (await records.putNew(ATTENDED_RECORD, next, expiresAt)) === undefined
  return isWritten || (tries > 1 && addAction({ records }, action, tries - 1))
}
