import { CANVAS_TASKS_AT_ONCE_MAX } from '../../core/bounds.ts'
import { CANVAS_BODY_MS } from '../../core/canvas/canvas.ts'
import { chunkOf } from '../../core/canvas/layout.ts'
import { type Followed, follow } from '../../core/canvas/standing.ts'
import { type Head, isCanvas } from '../../core/task/head.ts'
import { type Canvas, type End, memberEnd } from '../../core/task/head-fields.ts'
import { groupBy } from '../../core/values/records.ts'
import type { CanvasName } from '../../ports/stores.ts'
import { failureOf, type PlanFailure } from '../kernel/isolate-faults.ts'
import { readHead } from '../kernel/read-heads.ts'
import { sideBySide } from '../kernel/side-by-side.ts'
import type { System } from '../kernel/system.ts'
import { type LoadedCanvas, loadCanvas } from './canvas.ts'
import { sendCanvasLook } from './continue-canvas.ts'
import { recordCanvasEnd } from './end-canvas.ts'
import { createKnownEnds, type KnownEnds, readEnds } from './known-ends.ts'
import { startLeaves } from './start-leaves.ts'

/** How members have ended, by leaf. */
export type Ends = ReadonlyMap<number, End>

const CANVASES_AT_ONCE_MAX = 4
const CHUNKS_AT_ONCE_MAX = 10

/**
 * Counts the ended members of canvases among these tasks. Then starts the members that waited for them, and ends
 * the canvases that are complete. A count is an addition to a set, and a member's key follows from its canvas. So a
 * batch that is delivered twice, or to two planners, changes nothing the second time. If a process dies after some
 * of these writes, the next delivery does the rest.
 */
export async function countEnds(system: System, tasks: readonly Head[]): Promise<PlanFailure[]> {
  const ended = tasks.flatMap(task => {
    const end = memberEnd(task)
    return end ? [{ ...end, id: task.id }] : []
  })
  const groups = groupBy(ended, ({ member: { canvasId, born } }) => `${born} ${canvasId}`)
  const failures = await sideBySide([...groups.values()], CANVASES_AT_ONCE_MAX, async group => {
    try {
      const [first] = group
      if (first)
        await countCanvasEnds(system, first.member, new Map(group.map(one => [one.member.leaf, one.end])))
      return []
    } catch (error) {
      return group.map(({ id }) => failureOf(id, error))
    }
  })
  return failures.flat()
}

async function countCanvasEnds(system: System, name: CanvasName, ends: Ends): Promise<void> {
  const canvas = await loadCanvas(system, name)
  if (canvas) await recordMemberEnds(system, canvas, ends)
}

/**
 * Adds ends to the counts of a canvas, publishes the members that may start now, and ends the canvas when its last
 * member has ended. Other chunks of ends, of 200 leaves each, are read only where these ends show that a part of the
 * canvas may have ended.
 */
export async function recordMemberEnds(system: System, canvas: LoadedCanvas, ends: Ends): Promise<void> {
  const known = createKnownEnds(canvas)
  await addEnds(system, canvas, known, ends)
  const followed = await followedBy(system, canvas, known, [...ends.keys()])
  if (followed.start.length === 0 && !followed.outcome) return
  const head = await readHead(system, canvas.id, isCanvas)
  if (head?.born !== canvas.born || head.state !== 'open') return
  const refused = await startOrDefer(
    system,
    canvas,
    head,
    followed.start.filter(leaf => known.endOf(leaf) === undefined),
  )
  if (followed.outcome) await recordCanvasEnd(system, canvas, head, followed.outcome)
  if (refused.length > 0)
    await recordMemberEnds(system, canvas, new Map(refused.map(leaf => [leaf, 'failed'])))
}

async function addEnds(system: System, canvas: LoadedCanvas, known: KnownEnds, ends: Ends): Promise<void> {
  const chunks = groupBy(ends, ([leaf]) => chunkOf(leaf))
  const expiresAt = system.clock.now() + CANVAS_BODY_MS
  await sideBySide([...chunks], CHUNKS_AT_ONCE_MAX, async ([chunk, members]) => {
    const leavesThat = (end: End) => members.filter(([, ended]) => ended === end).map(([leaf]) => leaf)
    const added = { ok: leavesThat('succeeded'), bad: leavesThat('failed') }
    known.add(chunk, await system.canvases.addEnds(canvas, chunk, added, expiresAt))
  })
}

async function followedBy(
  system: System,
  canvas: LoadedCanvas,
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

/**
 * Starts a few members here, and returns those that will never run. A message leaves many members to the jobs
 * function, because the stream must not wait for them.
 */
async function startOrDefer(
  system: System,
  canvas: LoadedCanvas,
  head: Canvas,
  leaves: readonly number[],
): Promise<number[]> {
  const [from] = leaves
  if (from === undefined || leaves.length <= CANVAS_TASKS_AT_ONCE_MAX)
    return startLeaves(system, canvas, head, leaves)
  await sendCanvasLook(system, canvas, from)
  return []
}
