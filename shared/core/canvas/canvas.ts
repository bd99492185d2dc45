/**
 * A canvas is a chain, a group or a chord of tasks, as deep as they nest. It is stored as a head of its own, which keeps the
 * tree and takes part in no run; each of its tasks is a head that names it.
 *
 * This file has the changes of the canvas's head. `tree.ts` and `layout.ts` hold its shape in memory and in storage.
 * `follow.ts` says what the end of some tasks starts, and `evaluate.ts` how the whole stands when all ends are known.
 * What a head keeps of a canvas is in `task/canvas-state.ts`.
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

/** Bodies of a canvas are kept so long, and renewed long before while it is open. */
export const CANVAS_BODY_MS = 60 * 86_400_000

export type NewCanvas = Pick<Publication, 'key' | 'born' | 'shard' | 'traceparent'> &
  Omit<CanvasState, 'tree' | 'started'> & {
    readonly layout: Json
    /** Publish bodies of its leaves, page by page. */
    readonly pages: readonly Json[]
  }

export const canvasRef = {
  layout: (born: string) => `tree#${born}`,
  page: (born: string, page: number) => `leaves#${born}#${page}`,
}

/** Brings a canvas into being where none is, or over the remains of one that is gone. */
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

/** The leaves that need not wait for others have been published. */
export function noteStarted(task: Task, now: number): Decision<'nothing-to-note'> {
  if (task.state !== 'open' || !task.canvas || task.canvas.started) return refuse('nothing-to-note')
  return revise(task, { ...task, operation: 'patch', canvas: { ...task.canvas, started: true } }, now)
}

/** A sign of life of who is seeing to the canvas, so that nobody else begins to. */
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
 * A member of a cancelled canvas that was never published: written as cancelled, so that nobody publishes it any more. Who
 * starts it over gets its own input, and nothing that was handed on.
 */
export function createCancelled(
  publication: Publication,
  now: number,
): { readonly ok: true; readonly change: Change } {
  const { task, bodies } = newborn(publication, { revision: 1, fence: 0, operation: 'cancel' }, now)
  const after = indexed(finished(task, 'cancelled', now), now)
  return { ok: true, change: { before: undefined, after, guard: { kind: 'absent' }, bodies } }
}

/** Who publishes or cancels a small canvas begins with its members at once, and has so long for it. */
const BEGINNER_MS = 20_000

/**
 * When the jobs function is to see to a canvas as it stands: when its first members may not have been published, or not all of
 * a cancelled one's have been cancelled. A large one is the jobs function's from the start. Undefined: nothing is owed.
 */
export function driveAt({ canvas, state, owes, updatedAt }: Task, now: number): number | undefined {
  if (!canvas) return undefined
  const isOwed = (state === 'open' && !canvas.started) || owes
  if (!isOwed) return undefined
  return canvas.leaves > CANVAS_TASKS_AT_ONCE_MAX ? now : updatedAt + BEGINNER_MS
}
