/**
 * A canvas is a chain, a group or a chord of tasks. Canvases may nest. A canvas is stored as a head of its own, which keeps its
 * tree and which no worker can claim. The head of each task of the canvas names the canvas.
 *
 * This file has the changes of the canvas's head. Read on in this order:
 *
 * - `tree.ts` holds the form of a canvas as it is written and in memory, and assembles the value of a part
 * - `layout.ts` holds its form in storage, and numbers the items that store ends
 * - `standing.ts` finds the possible states of each part, the state of the whole canvas, and the tasks that start when others end
 *
 * `task/head-fields.ts` has the fields of the head.
 */

import { CANVAS_TASKS_AT_ONCE_MAX } from '../bounds.ts'
import type { Accepted, BodyWrite, Change, Decision, Start } from '../change.ts'
import { beginBirth, endFields, refuse, revise, withEnd } from '../change.ts'
import { DEFAULT_OPTIONS } from '../options.ts'
import { withIndexEntries } from '../place/place.ts'
import { newborn as newbornTask, type Publication } from '../publish.ts'
import { bodyOf, CANVAS_TYPE, type Canvas, type CanvasState, type End } from '../task/head-fields.ts'
import { taskId } from '../task/task.ts'
import type { TaskError } from '../task-error/task-error.ts'
import { defined, type Json } from '../values/values.ts'

/** The bodies of a canvas are kept for this long. While the canvas is open, the sweeper renews them long before they expire. */
export const CANVAS_BODY_MS = 60 * 86_400_000

export type NewCanvas = Pick<Publication, 'key' | 'born' | 'shard' | 'traceparent'> &
  Omit<CanvasState, 'tree' | 'started'> & {
    readonly layout: Json
    /** The publish bodies of the leaves, page by page. */
    readonly pages: readonly Json[]
  }

export const canvasRef = {
  layout: (born: string) => `tree#${born}`,
  page: (born: string, page: number) => `leaves#${born}#${page}`,
}

/** Creates a canvas where none exists, or over the remains of one that is gone. */
export function createCanvas(canvas: NewCanvas, remains: Canvas | undefined, now: number): Change<Canvas> {
  return beginBirth(remains, start => newborn(canvas, start, now), now)
}

function newborn(
  { layout, pages, leaves, sendConcurrency, ...name }: NewCanvas,
  start: Start,
  now: number,
): { draft: Canvas; bodies: BodyWrite[] } {
  const expiresAt = now + CANVAS_BODY_MS
  const { body, writes } = bodyOf(layout, canvasRef.layout(name.born), expiresAt)
  const pageWrites = pages.map((value, page) => ({ ref: canvasRef.page(name.born, page), value, expiresAt }))
  const draft: Canvas = {
    ...name,
    ...start,
    id: taskId(CANVAS_TYPE, name.key),
    type: CANVAS_TYPE,
    kind: 'canvas',
    state: 'open',
    dueAt: now,
    options: DEFAULT_OPTIONS,
    createdAt: now,
    updatedAt: now,
    canvas: defined({ tree: body, leaves, started: false, sendConcurrency }),
  }
  return { draft, bodies: [...writes, ...pageWrites] }
}

/** Records that all leaves that start with the canvas have been published. */
export function noteStarted(canvas: Canvas, now: number): Decision<'nothing-to-note', Canvas> {
  if (canvas.state !== 'open' || canvas.canvas.started) return refuse('nothing-to-note')
  return revise(canvas, { ...canvas, operation: 'patch', canvas: { ...canvas.canvas, started: true } }, now)
}

/** Records a sign of life of the process that works on the canvas, so that no other process begins to work on it. */
export function noteProgress(canvas: Canvas, now: number): Decision<'nothing-to-note', Canvas> {
  if (canvas.state !== 'open' && !canvas.owes) return refuse('nothing-to-note')
  return revise(canvas, { ...canvas, operation: 'patch' }, now)
}

export function endCanvas(
  canvas: Canvas,
  { end, error }: { readonly end: End; readonly error?: TaskError },
  now: number,
): Decision<'finished', Canvas> {
  if (canvas.state !== 'open') return refuse('finished')
  const operation = end === 'succeeded' ? 'succeed' : 'fail'
  return revise(canvas, { ...canvas, operation, ...endFields(canvas, end, now, error) }, now)
}

/** Stops the canvas: none of its members starts any more. It owes the cancellation of its members. */
export function cancelCanvas(
  canvas: Canvas,
  now: number,
): Decision<'finished' | 'already-cancelled', Canvas> {
  if (canvas.state === 'cancelled') return refuse('already-cancelled')
  if (canvas.state !== 'open') return refuse('finished')
  const end = endFields(canvas, 'cancelled', now)
  return revise(canvas, { ...canvas, operation: 'cancel', ...end, owes: true }, now)
}

/** Records that all members of a cancelled canvas are cancelled. */
export function noteMembersCancelled(canvas: Canvas, now: number): Decision<'owes-nothing', Canvas> {
  if (!canvas.owes) return refuse('owes-nothing')
  const { owes: _owed, ...settled } = canvas
  return revise(canvas, { ...settled, operation: 'settle' }, now)
}

/**
 * Creates an unpublished member of a cancelled canvas in the state `cancelled`, so that no process publishes it any more. After a
 * restart the member gets its own input, and no value that was handed on.
 */
export function createCancelled(publication: Publication, now: number): Accepted {
  const start = { revision: 1, fence: 0, operation: 'cancel' as const }
  const { task, bodies } = newbornTask(publication, start, now)
  const after = withIndexEntries(withEnd(task, 'cancelled', now), now)
  return { ok: true, change: { before: undefined, after, guard: { kind: 'absent' }, bodies } }
}

/** The process that publishes or cancels a small canvas handles the members itself. It has this long before the jobs function acts. */
const FIRST_PROCESS_MS = 20_000

/**
 * The time at which the jobs function must continue a canvas, because its first members may not all be published, or the members of a
 * cancelled canvas may not all be cancelled. The jobs function handles a large canvas from the start. Undefined when nothing is left to do.
 */
export function driveAt({ canvas, state, owes, updatedAt }: Canvas, now: number): number | undefined {
  if (!canvas) return undefined
  const isOwed = (state === 'open' && !canvas.started) || owes
  if (!isOwed) return undefined
  return canvas.leaves > CANVAS_TASKS_AT_ONCE_MAX ? now : updatedAt + FIRST_PROCESS_MS
}

/**
 * The plan of a canvas. Its head is never dispatched: the jobs function works on its members. A process that records progress
 * (`patch`) sends the next message itself. When that message is lost, the sweeper finds the canvas without progress.
 */
export function planOfCanvas(canvas: Canvas, now: number): { readonly driveAt?: number } {
  return defined({ driveAt: canvas.operation === 'patch' ? undefined : driveAt(canvas, now) })
}
