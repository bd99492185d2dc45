import { CANVAS_TASKS_AT_ONCE_MAX } from '../../core/bounds.ts'
import { CANVAS_BODY_MS } from '../../core/canvas/canvas.ts'
import { chunkOf } from '../../core/canvas/chunks.ts'
import { type Followed, follow } from '../../core/canvas/follow.ts'
import { isOutage } from '../../core/errors.ts'
import { type End, memberEnd } from '../../core/task/canvas-state.ts'
import type { Task } from '../../core/task/task.ts'
import type { CanvasName } from '../../ports/stores.ts'
import type { PlanFailure } from '../kernel/isolate-faults.ts'
import { sideBySide } from '../kernel/side-by-side.ts'
import type { System } from '../kernel/system.ts'
import { type Canvas, loadCanvas } from './canvas.ts'
import { recordCanvasEnd } from './end-canvas.ts'
import { sendCanvasLook } from './go-on.ts'
import { createKnownEnds, type KnownEnds, readEnds } from './known-ends.ts'
import { startLeaves } from './start-leaves.ts'

/** How members have ended, by leaf. */
export type Ends = ReadonlyMap<number, End>

const CANVASES_AT_ONCE = 4
const CHUNKS_AT_ONCE = 10

/**
 * Counts the members of canvases among these tasks that have ended, and brings about what follows. Counting is adding to
 * a set, and starting is publishing under a key that follows from the canvas: a batch that comes again, or comes to two
 * planners, changes nothing the second time, and goes on where the first one died.
 */
export async function countEnds(system: System, tasks: readonly Task[]): Promise<PlanFailure[]> {
  const ended = tasks.flatMap(task => {
    const end = memberEnd(task)
    return end ? [{ ...end, id: task.id }] : []
  })
  const groups = Map.groupBy(ended, ({ member: { canvasId, born } }) => `${born} ${canvasId}`)
  const failures = await sideBySide([...groups.values()], CANVASES_AT_ONCE, async group => {
    try {
      const [first] = group
      if (first) await countOf(system, first.member, new Map(group.map(one => [one.member.leaf, one.end])))
      return []
    } catch (error) {
      const transient = isOutage(error)
      return group.map(({ id }) => ({ id, reason: String(error), transient }))
    }
  })
  return failures.flat()
}

async function countOf(system: System, name: CanvasName, ends: Ends): Promise<void> {
  const canvas = await loadCanvas(system, name)
  if (canvas) await recordMemberEnds(system, canvas, ends)
}

/**
 * Adds ends to what a canvas has counted, and does what follows from them: publishes who may start now, ends the canvas.
 * Other chunks are read only where, by what these show, a part of the canvas may have ended.
 */
export async function recordMemberEnds(system: System, canvas: Canvas, ends: Ends): Promise<void> {
  const known = createKnownEnds(canvas)
  await addEnds(system, canvas, known, ends)
  const followed = await followedBy(system, canvas, known, [...ends.keys()])
  if (followed.start.length === 0 && !followed.outcome) return
  const head = await system.tasks.head(canvas.id)
  if (head?.born !== canvas.born || head.state !== 'open') return
  const refused = await startOrSend(
    system,
    canvas,
    head,
    followed.start.filter(leaf => known.endOf(leaf) === undefined),
  )
  if (followed.outcome) await recordCanvasEnd(system, canvas, head, followed.outcome)
  if (refused.length > 0)
    await recordMemberEnds(system, canvas, new Map(refused.map(leaf => [leaf, 'failed'])))
}

async function addEnds(system: System, canvas: Canvas, known: KnownEnds, ends: Ends): Promise<void> {
  const chunks = Map.groupBy(ends, ([leaf]) => chunkOf(leaf))
  const expiresAt = system.clock.now() + CANVAS_BODY_MS
  await sideBySide([...chunks], CHUNKS_AT_ONCE, async ([chunk, members]) => {
    const of = (end: End) => members.filter(([, ended]) => ended === end).map(([leaf]) => leaf)
    const added = { ok: of('succeeded'), bad: of('failed') }
    known.add(chunk, await system.canvases.addEnds(canvas, chunk, added, expiresAt))
  })
}

async function followedBy(
  system: System,
  canvas: Canvas,
  known: KnownEnds,
  leaves: readonly number[],
): Promise<Followed> {
  for (;;) {
    const followed = follow(canvas.tree, leaves, known.standingOf)
    if (followed.unsure.length === 0) return followed
    await readEnds(
      system,
      canvas,
      known,
      followed.unsure.map(node => node.leaves),
    )
  }
}

/** Leaves more members than the stream may wait for to the jobs function. */
async function startOrSend(
  system: System,
  canvas: Canvas,
  head: Task,
  leaves: readonly number[],
): Promise<number[]> {
  const [from] = leaves
  if (from === undefined || leaves.length <= CANVAS_TASKS_AT_ONCE_MAX)
    return startLeaves(system, canvas, head, leaves)
  await sendCanvasLook(system, canvas, from)
  return []
}
