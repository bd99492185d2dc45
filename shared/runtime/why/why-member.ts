import { evaluate } from '../../core/canvas/evaluate.ts'
import { isGone } from '../../core/publish/publish.ts'
import type { MemberFacts } from '../../core/status/why-facts.ts'
import { CANVAS_TYPE, type Canvas } from '../../core/task/canvas-state.ts'
import { isCanvas } from '../../core/task/head.ts'
import { splitTaskId, taskId } from '../../core/task/task.ts'
import { type LoadedCanvas, loadCanvas, memberId } from '../canvas/canvas.ts'
import { readAllEnds } from '../canvas/known-ends.ts'
import { readHead } from '../kernel/read-heads.ts'
import type { System } from '../kernel/system.ts'

/** The members of a canvas whose ends one answer reads: 8 chunks of 200, one read unit each. */
const COUNTED_MEMBERS_MAX = 1_600

/**
 * Why a member of a canvas is not published. Undefined when the canvas does not exist, or has no member of this id. A larger canvas
 * answers without counts.
 */
export async function readWhyMember(
  system: System,
  id: string,
  canvasId: string,
): Promise<MemberFacts | undefined> {
  const head = await readHead(system, canvasId, isCanvas)
  if (!head?.canvas || isGone(head, system.clock.now())) return undefined
  const canvas = await loadCanvas(system, { canvasId: head.key, born: head.born }, head)
  const leaf = canvas && leafOf(canvas, id)
  if (!canvas || leaf === undefined) return undefined
  const facts = await memberFacts(system, canvas, head, leaf)
  return { id, canvasId: taskId(CANVAS_TYPE, head.key), ...facts }
}

/** The number of the leaf whose task has this id. */
function leafOf(canvas: LoadedCanvas, id: string): number | undefined {
  const leaf = Number(splitTaskId(id)?.key.split('.').at(-1))
  return Number.isInteger(leaf) && memberId(canvas, leaf) === id ? leaf : undefined
}

async function memberFacts(
  system: System,
  canvas: LoadedCanvas,
  head: Canvas,
  leaf: number,
): Promise<Pick<MemberFacts, 'members' | 'ended' | 'state'>> {
  const members = canvas.leaves
  if (head.state === 'cancelled') return { members, state: 'cancelled' }
  if (members > COUNTED_MEMBERS_MAX) return { members, state: head.state === 'open' ? 'pending' : 'skipped' }
  const { endOf } = await readAllEnds(system, canvas)
  const ended = canvas.types.filter((_type, one) => endOf(one) !== undefined).length
  const reach = evaluate(canvas.tree, endOf).reachOf(leaf)
  const state = { waiting: 'pending', ready: 'about-to-start', skipped: 'skipped' } as const
  return { members, ended, state: head.state === 'open' ? state[reach] : 'skipped' }
}
