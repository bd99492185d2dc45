/**
 * A canvas is a chain, a group or a chord of tasks, which may nest. It is stored as a head of its own, which keeps the tree and
 * which no worker can claim. Each of its tasks has a head that names the canvas.
 *
 * This file has the changes of the canvas's head. Read on in this order:
 *
 * - `shape.ts`, `tree.ts` and `layout.ts` hold the form of a canvas: as it is written, in memory, and in storage
 * - `standing.ts` says how each part stands, `follow.ts` which tasks start after the end of others
 * - `evaluate.ts` says how the whole canvas stands when all ends are known
 * - `node-value.ts` assembles the value of a part; `chunks.ts` numbers the items that store ends
 *
 * `task/canvas-state.ts` has the fields of the head.
 */

import { CANVAS_TASKS_AT_ONCE_MAX } from '../bounds.ts'
import { type Change, type Decision, refuse, revise } from '../change/change.ts'
import { finished } from '../change/finished.ts'
import type { Json } from '../json.ts'
import { DEFAULT_OPTIONS } from '../options/options.ts'
import { indexed } from '../place/place.ts'
import { create, newborn, type Publication } from '../publish/publish.ts'
import { type BodyWrite, bodyOf } from '../task/body.ts'
import { CANVAS_TYPE, type CanvasState, type End } from '../task/canvas-state.ts'
import type { Task, TaskError } from '../task/task.ts'

/** The bodies of a canvas are kept for this long. While the canvas is open, they are renewed long before. */
export const CANVAS_BODY_MS = 60 * 86_400_000

export type NewCanvas = Pick<Publication, 'key' | 'born' | 'shard' | 'traceparent'> &
  Omit<CanvasState, 'tree' | 'started'> & {
    readonly layout: Json
    /** The publish bodies of its leaves, page by page. */
    readonly pages: readonly Json[]
  }

export const canvasRef = {
  layout: (born: string) => `tree#${born}`,
  page: (born: string, page: number) => `leaves#${born}#${page}`,
}

/** Creates a canvas where none exists, or over the remains of one that is gone. */
export function createCanvas(canvas: NewCanvas, remains: Task | undefined, now: number): Change {
  const { layout, pages, leaves, sendConcurrency, ...name } = canvas
  const publication: Publication = {
    ...name,
    type: CANVAS_TYPE,
    kind: 'canvas',
    ordering: 'arrival',
    dueAt: now,
    priority: 0,
    options: DEFAULT_OPTIONS,
  }
  const expiresAt = now + CANVAS_BODY_MS
  const { body, writes } = bodyOf(layout, canvasRef.layout(canvas.born), expiresAt)
  const pageWrites: BodyWrite[] = pages.map((value, page) => ({
    ref: canvasRef.page(canvas.born, page),
    value,
    expiresAt,
  }))
  const state: CanvasState = {
    tree: body,
    leaves,
    started: false,
    ...(sendConcurrency !== undefined && { sendConcurrency }),
  }
  const change = create(publication, remains, now)
  return {
    ...change,
    after: { ...change.after, canvas: state },
    bodies: [...change.bodies, ...writes, ...pageWrites],
  }
}

/** Records that the leaves that wait for no others have been published. */
export function noteStarted(task: Task, now: number): Decision<'nothing-to-note'> {
  if (task.state !== 'open' || !task.canvas || task.canvas.started) return refuse('nothing-to-note')
  return revise(task, { ...task, operation: 'patch', canvas: { ...task.canvas, started: true } }, now)
}

/** A sign of life of the process that works on the canvas, so that no other process begins to. */
export function noteProgress(task: Task, now: number): Decision<'nothing-to-note'> {
  if (task.state !== 'open' && !task.owes) return refuse('nothing-to-note')
  return revise(task, { ...task, operation: 'patch' }, now)
}

export function endCanvas(
  task: Task,
  outcome: { readonly end: End; readonly error?: TaskError },
  now: number,
): Decision<'finished'> {
  if (task.state !== 'open') return refuse('finished')
  const operation = outcome.end === 'succeeded' ? 'succeed' : 'fail'
  return revise(task, finished({ ...task, operation }, outcome.end, now, outcome.error), now)
}

/**
 * Writes a member of a cancelled canvas that was never published as cancelled, so that no process publishes it any more. When it is
 * started over, it gets its own input, and no value that was handed on.
 */
export function createCancelled(
  publication: Publication,
  now: number,
): { readonly ok: true; readonly change: Change } {
  const { task, bodies } = newborn(publication, { revision: 1, fence: 0, operation: 'cancel' }, now)
  const after = indexed(finished(task, 'cancelled', now), now)
  return { ok: true, change: { before: undefined, after, guard: { kind: 'absent' }, bodies } }
}

/** The process that publishes or cancels a small canvas handles its members at once, and has this long for it. */
const FIRST_PROCESS_MS = 20_000

/**
 * When the jobs function must go on with a canvas: its first members may not all be published, or the members of a cancelled canvas
 * may not all be cancelled. A large canvas belongs to the jobs function from the start. Undefined: nothing is left to do.
 */
export function driveAt({ canvas, state, owes, updatedAt }: Task, now: number): number | undefined {
  if (!canvas) return undefined
  const isOwed = (state === 'open' && !canvas.started) || owes
  if (!isOwed) return undefined
  return canvas.leaves > CANVAS_TASKS_AT_ONCE_MAX ? now : updatedAt + FIRST_PROCESS_MS
}
