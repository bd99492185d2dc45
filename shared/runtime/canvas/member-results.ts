import { memberEnd } from '../../core/task/head-fields.ts'
import { resultOf } from '../../core/task/piece.ts'
import type { Task } from '../../core/task/task.ts'
import { type Json, jsonBytes } from '../../core/values/json.ts'
import { bodyValue } from '../kernel/living-bodies.ts'
import { readTask, readTasksById } from '../kernel/read-heads.ts'
import { sideBySide } from '../kernel/side-by-side.ts'
import type { System } from '../kernel/system.ts'
import { type LoadedCanvas, memberId } from './canvas.ts'

const PAGE_LEAVES = 500
const READS_AT_ONCE_MAX = 10
/**
 * Against a byte limit each member counts as at least this many bytes. This bounds the reads, however short the
 * results are.
 */
const BYTES_PER_READ = 200

/**
 * Reads the results of members that have succeeded, by leaf, page by page; undefined when a result has expired, and
 * `too-long` when they take more than `maxBytes`. The result of a member that returned nothing is null.
 */
export async function memberResults(
  system: Pick<System, 'tasks'>,
  canvas: LoadedCanvas,
  leaves: readonly number[],
  maxBytes = Number.POSITIVE_INFINITY,
): Promise<Map<number, Json> | 'too-long' | undefined> {
  const results = new Map<number, Json>()
  if (leaves.length * BYTES_PER_READ > maxBytes) return 'too-long'
  let bytes = 0
  for (let start = 0; start < leaves.length; start += PAGE_LEAVES) {
    const page = leaves.slice(start, start + PAGE_LEAVES)
    const heads = await endedHeads(system, canvas, page)
    bytes += heads.reduce((sum, head) => sum + resultBytes(head), 0)
    if (bytes > maxBytes) return 'too-long'
    const values = await sideBySide(heads, READS_AT_ONCE_MAX, head => resultValue(system, head))
    for (const [index, leaf] of page.entries()) {
      const value = values[index]
      if (value === undefined) return undefined
      results.set(leaf, value)
    }
  }
  return results
}

/**
 * Reads the heads of ended members. The eventually consistent read may lag behind an end that the canvas has
 * counted; such a head is read again strongly.
 */
async function endedHeads(
  { tasks }: Pick<System, 'tasks'>,
  canvas: LoadedCanvas,
  leaves: readonly number[],
): Promise<Array<Task | undefined>> {
  const ids = leaves.map(leaf => memberId(canvas, leaf))
  const heads = await readTasksById({ tasks }, ids)
  return sideBySide(ids, READS_AT_ONCE_MAX, async id => {
    const seen = heads.get(id)
    return seen && memberEnd(seen) ? seen : readTask({ tasks }, id)
  })
}

function resultBytes(head: Task | undefined): number {
  const result = head && resultOf(head)
  if (!result) return 0
  return 'inline' in result ? jsonBytes(result.inline) : result.bytes
}

/** The result of one member; undefined when it is no longer stored. */
async function resultValue(system: Pick<System, 'tasks'>, head: Task | undefined): Promise<Json | undefined> {
  if (!head || head.state === 'removed' || isStartedOver(head)) return undefined
  const result = resultOf(head)
  return result ? bodyValue(system, head.id, result) : null
}

/** Whether a member that counts as succeeded was started over since: its canvas keeps the first outcome. */
function isStartedOver({ member, state }: Task): boolean {
  return member?.first === 'succeeded' && state !== 'succeeded'
}
