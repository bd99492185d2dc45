import { nodeValue, valueLeaves } from '../../core/canvas/node-value.ts'
import { nodeAt } from '../../core/canvas/tree.ts'
import type { Json } from '../../core/json.ts'
import type { Task } from '../../core/task.ts'
import { bodyValue } from '../body-value.ts'
import type { System } from '../system.ts'
import { loadCanvas } from './load-canvas.ts'
import { memberResults } from './member-results.ts'

/**
 * What was handed on to the task; undefined when nothing was, or it has expired. The value of a part of a canvas is put
 * together from its members' results, page by page, however many there are.
 */
export async function previousOf(
  system: Pick<System, 'tasks'>,
  { id, previous }: Pick<Task, 'id' | 'previous'>,
): Promise<Json | undefined> {
  if (!previous) return undefined
  if (previous.kind === 'body') return bodyValue(system, id, previous.body)
  if (previous.kind === 'result') return system.tasks.body(previous.taskId, previous.ref)
  const canvas = await loadCanvas(system, previous)
  if (!canvas) return undefined
  const node = nodeAt(canvas.tree, previous.node)
  const results = await memberResults(system, canvas, valueLeaves(canvas.tree, node))
  return results && nodeValue(canvas.tree, node, leaf => results.get(leaf) ?? null)
}
