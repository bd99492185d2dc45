import { noteStarted } from '../../core/canvas/canvas.ts'
import { type Evaluation, evaluate } from '../../core/canvas/standing.ts'
import { isCanvas } from '../../core/task/head.ts'
import { type Canvas, type End, memberEnd } from '../../core/task/head-fields.ts'
import { splitTaskId } from '../../core/task/task.ts'
import type { CanvasLook } from '../../ports/messages.ts'
import { ofSameBirth, transact } from '../kernel/kernel.ts'
import { readHead, readTasks } from '../kernel/read-heads.ts'
import type { System } from '../kernel/system.ts'
import { cancelMembers } from './cancel-members.ts'
import { type LoadedCanvas, loadCanvas, memberId } from './canvas.ts'
import { continueCanvas } from './continue-canvas.ts'
import { recordMemberEnds } from './count-ends.ts'
import { recordCanvasEnd } from './end-canvas.ts'
import { readAllEnds } from './known-ends.ts'
import { startLeaves } from './start-leaves.ts'

const PAGE_LEAVES = 100

/**
 * Brings a canvas up to date: publishes members that may start and are not published, counts ends that were not
 * counted, and cancels the members of a cancelled canvas. Work that is not done by `stopAt` continues in a new
 * message. A look at a birth that is gone, or at a canvas that needs nothing, changes nothing.
 */
export async function driveCanvas(system: System, look: CanvasLook, stopAt: number): Promise<void> {
  const head = await readHead(system, look.id, isCanvas)
  const canvas = await canvasToDrive(system, look, head)
  if (!head || !canvas) return
  if (head.state === 'cancelled') return cancelMembers(system, canvas, head, look.from, stopAt)
  // Once the canvas has started, a look from leaf 0 has nothing to do. A look from a later leaf is about members that
  // became ready since.
  if (head.canvas?.started && look.from === 0) return
  const left = await repairMembers(system, canvas, head, { from: look.from, stopAt })
  if (left !== undefined) return continueCanvas(system, canvas, left)
  await transact(
    system,
    head,
    ofSameBirth(look, current => noteStarted(current, system.clock.now())),
  )
}

async function canvasToDrive(
  system: System,
  { id, born }: CanvasLook,
  head: Canvas | undefined,
): Promise<LoadedCanvas | undefined> {
  const key = splitTaskId(id)?.key
  const needsWork = head?.state === 'open' || head?.owes
  if (key === undefined || head?.born !== born || !needsWork) return undefined
  return loadCanvas(system, { canvasId: key, born }, head)
}

export type RepairRange = {
  readonly from: number
  readonly stopAt: number
  /** The largest number of leaves to check. */
  readonly budget?: number
}

/**
 * Goes through the leaves, from `from` on, that may start and are not counted as ended. Publishes those that have
 * no head and counts those that have ended. Returns the leaf to continue from when the time or the budget ran
 * out.
 */
export async function repairMembers(
  system: System,
  canvas: LoadedCanvas,
  head: Canvas,
  { from, stopAt, budget = Number.POSITIVE_INFINITY }: RepairRange,
): Promise<number | undefined> {
  const known = await readAllEnds(system, canvas)
  const evaluation = evaluate(canvas.tree, known.endOf)
  if (evaluation.status !== 'running') {
    await recordCanvasEnd(system, canvas, head, outcomeOf(evaluation))
    return undefined
  }
  const leaves = Array.from({ length: canvas.leaves }, (_, leaf) => leaf).filter(
    leaf => leaf >= from && evaluation.reachOf(leaf) === 'ready' && known.endOf(leaf) === undefined,
  )
  for (let done = 0; done < leaves.length; done += PAGE_LEAVES) {
    if (done >= budget || system.clock.now() >= stopAt) return leaves[done]
    await repairPage(system, canvas, head, leaves.slice(done, done + PAGE_LEAVES))
  }
  return undefined
}

function outcomeOf({ status, failure = 0 }: Evaluation) {
  return status === 'failed' ? { end: status, failure } : ({ end: 'succeeded' } as const)
}

async function repairPage(
  system: System,
  canvas: LoadedCanvas,
  head: Canvas,
  leaves: readonly number[],
): Promise<void> {
  const heads = await readTasks(
    system,
    leaves.map(leaf => memberId(canvas, leaf)),
  )
  const byId = new Map(heads.map(task => [task.id, task]))
  const missing = leaves.filter(leaf => !byId.has(memberId(canvas, leaf)))
  const refused = await startLeaves(system, canvas, head, missing)
  const ends = new Map<number, End>(refused.map(leaf => [leaf, 'failed']))
  for (const task of heads) {
    const ended = memberEnd(task)
    if (ended?.member.born === canvas.born) ends.set(ended.member.leaf, ended.end)
  }
  if (ends.size > 0) await recordMemberEnds(system, canvas, ends)
}
