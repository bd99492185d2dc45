import { CANVAS_TASKS_AT_ONCE_MAX } from '../../core/bounds.ts'
import {
  cancelCanvas as cancelHead,
  createCancelled,
  noteMembersCancelled,
  noteStarted,
} from '../../core/canvas/canvas.ts'
import { type Evaluation, evaluate } from '../../core/canvas/standing.ts'
import { cancel } from '../../core/operate/operate.ts'
import { isGone } from '../../core/publish.ts'
import { isCanvas } from '../../core/task/head.ts'
import { type Canvas, type End, memberEnd } from '../../core/task/head-fields.ts'
import { splitTaskId, type Task } from '../../core/task/task.ts'
import { isItemFault } from '../../core/values/values.ts'
import type { CanvasLook } from '../../ports/messages.ts'
import { logFault, readHead, sideBySide } from '../kernel/heads.ts'
import { transact, transactBirth } from '../kernel/kernel.ts'
import type { System } from '../kernel/system.ts'
import { type OperateOutcome, UNKNOWN } from '../operate/operate.ts'
import { resolveRequest, withNewBirth } from '../publish/resolve-publication.ts'
import { batchTypeReader, type TypeReader } from '../types/type-cache.ts'
import {
  canvasOf,
  continueCanvas,
  type LoadedCanvas,
  leafRequest,
  loadCanvas,
  memberId,
  memberKey,
  readAllEnds,
  readMembers,
} from './canvas.ts'
import { recordCanvasEnd, recordMemberEnds, startLeaves } from './count-ends.ts'

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
  await transactBirth(system, head, current => noteStarted(current, system.clock.now()))
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
 * Goes through the leaves, from `from` on, that may start and are not counted as ended. Publishes those that have no head and counts those
 * that have ended. Returns the leaf to continue from when the time or the budget ran out.
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
  const members = await readMembers(system, canvas, leaves)
  const missing = leaves.filter(leaf => !members.has(leaf))
  const refused = await startLeaves(system, canvas, head, missing)
  const ends = new Map<number, End>(refused.map(leaf => [leaf, 'failed']))
  for (const task of members.values()) {
    const ended = memberEnd(task)
    if (ended?.member.born === canvas.born) ends.set(ended.member.leaf, ended.end)
  }
  if (ends.size > 0) await recordMemberEnds(system, canvas, ends)
}

const CANCELS_AT_ONCE_MAX = 25

/**
 * Cancels the members of a cancelled canvas from the leaf `from` on, and then records that the canvas owes no more
 * work. A member that is not published yet is written as cancelled, because another process may be about to publish
 * it. At `stopAt` it leaves the rest to a new message.
 */
async function cancelMembers(
  system: System,
  canvas: LoadedCanvas,
  head: Canvas,
  from: number,
  stopAt: number,
): Promise<void> {
  const { reachOf: reach } = evaluate(canvas.tree, (await readAllEnds(system, canvas)).endOf)
  const leaves = Array.from({ length: canvas.leaves }, (_, leaf) => leaf).filter(
    leaf => leaf >= from && reach(leaf) !== 'skipped',
  )
  for (let done = 0; done < leaves.length; done += PAGE_LEAVES) {
    const next = leaves[done]
    if (next !== undefined && system.clock.now() >= stopAt) return continueCanvas(system, canvas, next)
    await cancelPage(system, canvas, leaves.slice(done, done + PAGE_LEAVES))
  }
  await transactBirth(system, head, current => noteMembersCancelled(current, system.clock.now()))
}

const OWES_NOTHING = { ok: false, reason: 'owes-nothing' } as const

async function cancelPage(system: System, canvas: LoadedCanvas, leaves: readonly number[]): Promise<void> {
  const members = await readMembers(system, canvas, leaves)
  const reading = { ...system, typeOf: batchTypeReader(system) }
  await sideBySide(leaves, CANCELS_AT_ONCE_MAX, async leaf => {
    const member = members.get(leaf)
    try {
      await cancelLeaf(reading, canvas, leaf, member)
    } catch (error) {
      if (!isItemFault(error)) throw error
      logFault(system, member ?? { id: memberId(canvas, leaf), type: canvas.types[leaf] ?? '' }, error)
    }
  })
}

type Reading = System & { readonly typeOf: TypeReader }

/** Cancels a published member like any task, and creates an unpublished one as cancelled. A member that has ended stays as it is. */
async function cancelLeaf(
  system: Reading,
  canvas: LoadedCanvas,
  leaf: number,
  seen: Task | undefined,
): Promise<void> {
  const draft = seen ? undefined : await draftOf(system, canvas, leaf)
  await transact(system, seen, current => {
    if (current) return cancel(current, system.clock.now())
    if (!draft) return OWES_NOTHING
    return createCancelled(withNewBirth(system, draft), system.clock.now())
  })
}

async function draftOf(system: Reading, canvas: LoadedCanvas, leaf: number) {
  const request = await leafRequest(system, canvas, leaf)
  const member = { canvasId: canvas.canvasId, born: canvas.born, leaf }
  const key = memberKey(canvas.born, leaf)
  const resolved = await resolveRequest(system, { ...request, key, member })
  return resolved.ok ? resolved.publication : undefined
}

/** A request cancels members for at most this long; the jobs function cancels the rest. */
const CANCEL_MS_MAX = 15_000

/**
 * Cancels a canvas: none of its tasks starts any more. This call cancels the members of a small canvas, and the
 * jobs function the leaves of a large one. Repeating the call changes nothing.
 */
export async function cancelCanvas(system: System, id: string): Promise<OperateOutcome<'finished', Canvas>> {
  const { decision, head } = await transact(system, await readHead(system, id, isCanvas), current =>
    current && !isGone(current, system.clock.now()) ? cancelHead(current, system.clock.now()) : UNKNOWN,
  )
  if (!head || (!decision.ok && decision.reason === 'unknown')) return UNKNOWN
  if (!decision.ok && decision.reason !== 'already-cancelled')
    return { ok: false, reason: 'finished', task: head }
  if (head.owes) await cancelNow(system, head)
  return { ok: true, task: head }
}

async function cancelNow(system: System, head: Canvas): Promise<void> {
  if ((head.canvas?.leaves ?? 0) > CANVAS_TASKS_AT_ONCE_MAX) return
  try {
    const canvas = await canvasOf(system, head)
    if (canvas) await cancelMembers(system, canvas, head, 0, system.clock.now() + CANCEL_MS_MAX)
  } catch (error) {
    system.log.warn('the members of a cancelled canvas were not all cancelled; the jobs function continues', {
      canvasId: head.id,
      error,
    })
  }
}
