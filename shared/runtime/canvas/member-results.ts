import { type Json, jsonBytes } from '../../core/json.ts'
import { memberEnd } from '../../core/task/canvas-state.ts'
import { resultOf } from '../../core/task/result.ts'
import type { Task } from '../../core/task/task.ts'
import { bodyValue } from '../kernel/living-bodies.ts'
import { sideBySide } from '../kernel/side-by-side.ts'
import type { System } from '../kernel/system.ts'
import { type Canvas, memberId } from './load-canvas.ts'

const PAGE = 500
const MOST_READS_AT_ONCE = 10
/** Who can take only so many bytes waits for them: however short the results, this many heads fewer are read for it. */
const BYTES_PER_READ = 200

/**
 * The results of members that have succeeded, by leaf, read page by page; undefined when one has expired. Who returned
 * nothing has null.
 */
export async function memberResults(
  system: Pick<System, 'tasks'>,
  canvas: Canvas,
  leaves: readonly number[],
  maxBytes = Number.POSITIVE_INFINITY,
): Promise<Map<number, Json> | 'too-long' | undefined> {
  const results = new Map<number, Json>()
  if (leaves.length * BYTES_PER_READ > maxBytes) return 'too-long'
  let bytes = 0
  for (let start = 0; start < leaves.length; start += PAGE) {
    const page = leaves.slice(start, start + PAGE)
    const heads = await endedHeads(system, canvas, page)
    bytes += heads.reduce((sum, head) => sum + resultBytes(head), 0)
    if (bytes > maxBytes) return 'too-long'
    const values = await sideBySide(heads, MOST_READS_AT_ONCE, head => resultValue(system, head))
    for (const [index, leaf] of page.entries()) {
      const value = values[index]
      if (value === undefined) return undefined
      results.set(leaf, value)
    }
  }
  return results
}

/** The cheap read may not show an end yet that its canvas has counted: then the head is read once more, strongly. */
async function endedHeads(
  { tasks }: Pick<System, 'tasks'>,
  canvas: Canvas,
  leaves: readonly number[],
): Promise<Array<Task | undefined>> {
  const ids = leaves.map(leaf => memberId(canvas, leaf))
  const heads = new Map((await tasks.heads(ids)).map(head => [head.id, head]))
  return sideBySide(ids, MOST_READS_AT_ONCE, async id => {
    const seen = heads.get(id)
    return seen && memberEnd(seen) ? seen : tasks.head(id)
  })
}

function resultBytes(head: Task | undefined): number {
  const result = head && resultOf(head)
  if (!result) return 0
  return 'inline' in result ? jsonBytes(result.inline) : result.bytes
}

/** Undefined when it is no longer stored. */
async function resultValue(system: Pick<System, 'tasks'>, head: Task | undefined): Promise<Json | undefined> {
  if (!head || head.state === 'removed' || isStartedOver(head)) return undefined
  const result = resultOf(head)
  return result ? bodyValue(system, head.id, result) : null
}

/** What it has come to since is not what its canvas has counted. */
function isStartedOver({ member, state }: Task): boolean {
  return member?.first === 'succeeded' && state !== 'succeeded'
}
