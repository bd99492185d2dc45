/**
 * A canvas is a composition of tasks (one after another, side by side, or nested) that is published as a whole.
 * It has a head of its own; its tasks are its members, and the tree of the composition has one leaf per member.
 *
 * `publish-canvas.ts` stores a canvas and `start-leaves.ts` publishes its members. `count-ends.ts` counts the
 * members that have ended and starts those that may start now; `known-ends.ts` holds those counts.
 * `end-canvas.ts` ends the canvas and `cancel-members.ts` cancels it. `drive-canvas.ts`, `continue-canvas.ts`
 * and `sweep-canvases.ts` go on with work that a process left undone. `handed-on.ts` and `member-results.ts`
 * pass results along, and `read-previous.ts`, `describe-canvas.ts` and `list-members.ts` read. Start with this
 * file and `count-ends.ts`.
 *
 * This file reads one birth of a canvas. Its tree and its leaves never change, so each process reads them once.
 */

import { canvasRef } from '../../core/canvas/canvas.ts'
import { type Layout, layoutFrom, pageOf } from '../../core/canvas/layout.ts'
import { BatonError } from '../../core/errors.ts'
import type { Json } from '../../core/json.ts'
import { CANVAS_TYPE } from '../../core/task/canvas-state.ts'
import { type Task, taskId } from '../../core/task/task.ts'
import type { CanvasName } from '../../ports/stores.ts'
import { bodyValue } from '../kernel/living-bodies.ts'
import { processMemory } from '../kernel/process-memory.ts'
import type { System } from '../kernel/system.ts'
import type { PublishRequest } from '../publish/resolve-publication.ts'

/** The publish request of one leaf, without the fields that make the task a member. */
export type LeafRequest = Omit<
  PublishRequest,
  'key' | 'ifExists' | 'clean' | 'previous' | 'parentId' | 'member'
>

/** The parts of one birth of a canvas that never change. */
export type Canvas = CanvasName & Layout & { readonly id: string; readonly leaves: number }

/** The nodes of all canvases that a process remembers: some 30 MB. */
const NODES_MAX = 200_000
const PAGES_MAX = 16

/** Each process reads what never changes once per store. */
const memoriesOf = processMemory(() => ({
  canvases: createMemo<Canvas>(NODES_MAX, ({ tree }) => tree.nodes.length),
  pages: createMemo<readonly LeafRequest[]>(PAGES_MAX, () => 1),
}))

/** The canvas of this name and birth; undefined when that birth is gone. A given `head` saves one read. */
export async function loadCanvas(
  system: Pick<System, 'tasks'>,
  { canvasId, born }: CanvasName,
  head?: Task,
): Promise<Canvas | undefined> {
  const id = taskId(CANVAS_TYPE, canvasId)
  return memoriesOf(system.tasks).canvases(`${id} ${born}`, async () => {
    const current = head ?? (await system.tasks.head(id))
    if (!current?.canvas || current.born !== born) return undefined
    const layout = await bodyValue(system, id, current.canvas.tree)
    if (layout === undefined) throw new BatonError('unavailable', `the tree of ${id} cannot be read`)
    return { id, canvasId, born, leaves: current.canvas.leaves, ...layoutFrom(layout) }
  })
}

export function memberId({ born, types }: Canvas, leaf: number): string {
  return taskId(types[leaf] ?? '', memberKey(born, leaf))
}

export function memberKey(born: string, leaf: number): string {
  return `${born}.${leaf}`
}

export async function leafRequest(
  system: Pick<System, 'tasks'>,
  canvas: Canvas,
  leaf: number,
): Promise<LeafRequest> {
  const page = pageOf(canvas, leaf)
  const requests = await pageAt(system, canvas, page)
  const request = requests?.[leaf - (canvas.pages[page] ?? 0)]
  if (!request) throw new BatonError('unavailable', `page ${page} of ${canvas.id} cannot be read`)
  return request
}

function pageAt(system: Pick<System, 'tasks'>, { id, born }: Canvas, page: number) {
  return memoriesOf(system.tasks).pages(`${id} ${born} ${page}`, async () => {
    const value: Json | undefined = await system.tasks.body(id, canvasRef.page(born, page))
    return value as unknown as readonly LeafRequest[] | undefined
  })
}

/** Remembers what was read under a name. A value that is missing, or that could not be read, is read again. */
export type Memo<Value> = (name: string, read: () => Promise<Value | undefined>) => Promise<Value | undefined>

/** Creates a memory that forgets the oldest value when all remembered values together weigh more than `weightMax`. */
export function createMemo<Value>(weightMax: number, weigh: (value: Value) => number): Memo<Value> {
  const known = new Map<string, { readonly value: Promise<Value | undefined>; weight: number }>()
  let total = 0
  const forget = (name: string) => {
    total -= known.get(name)?.weight ?? 0
    known.delete(name)
  }
  const evictOldest = (kept: string) => {
    for (const old of known.keys()) if (total > weightMax && old !== kept) forget(old)
  }
  const remember = async (name: string, read: () => Promise<Value | undefined>) => {
    const value = read()
    const entry = { value, weight: 0 }
    known.set(name, entry)
    try {
      const present = await value
      // The memory forgot this value while it was read, so it adds no weight.
      if (known.get(name) !== entry) return
      if (present === undefined) return forget(name)
      entry.weight = weigh(present)
      total += entry.weight
      evictOldest(name)
    } catch {
      if (known.get(name) === entry) forget(name)
    }
  }
  return (name, read) => {
    const present = known.get(name)
    if (present) return present.value
    const done = remember(name, read)
    const value = known.get(name)?.value
    return done.then(() => value)
  }
}
