/**
 * A canvas is a composition of tasks (one after another, side by side, or nested) that is published as a whole and has
 * a head of its own. This room publishes canvases, counts the members that have ended, starts those that may start
 * now, ends or cancels the canvas, and reads its members, their results and what they hand on.
 *
 * This file reads one birth of a canvas: its tree and its leaves never change, so each process reads them once.
 */

import { canvasRef } from '../../core/canvas/canvas.ts'
import { type Layout, layoutFrom, pageOf } from '../../core/canvas/layout.ts'
import { BatonError } from '../../core/errors.ts'
import type { Json } from '../../core/json.ts'
import { CANVAS_TYPE } from '../../core/task/canvas-state.ts'
import { type Task, taskId } from '../../core/task/task.ts'
import type { CanvasName, TaskStore } from '../../ports/stores.ts'
import { bodyValue } from '../kernel/living-bodies.ts'
import type { System } from '../kernel/system.ts'
import type { PublishRequest } from '../publish/resolve-publication.ts'

/** What the leaf of a canvas is published as: what makes it a member is added then. */
export type LeafRequest = Omit<
  PublishRequest,
  'key' | 'ifExists' | 'clean' | 'previous' | 'parentId' | 'member'
>

/** One birth of a canvas, without what changes of it. */
export type Canvas = CanvasName & Layout & { readonly id: string; readonly leaves: number }

/** Nodes and leaves of all the canvases that a process remembers: some 30 MB. */
const MOST_NODES = 200_000
const MOST_PAGES = 16

type Known = { readonly canvases: Memo<Canvas>; readonly pages: Memo<readonly LeafRequest[]> }

/** What never changes is read once a process, by the store that it is from. */
const known = new WeakMap<TaskStore, Known>()

function knownOf({ tasks }: Pick<System, 'tasks'>): Known {
  const present = known.get(tasks)
  if (present) return present
  const fresh: Known = {
    canvases: createMemo(MOST_NODES, ({ tree }) => tree.nodes.length),
    pages: createMemo(MOST_PAGES, () => 1),
  }
  known.set(tasks, fresh)
  return fresh
}

/** The canvas under this name; undefined when that birth of it is gone. `head` saves reading it. */
export async function loadCanvas(
  system: Pick<System, 'tasks'>,
  { canvasId, born }: CanvasName,
  head?: Task,
): Promise<Canvas | undefined> {
  const id = taskId(CANVAS_TYPE, canvasId)
  return knownOf(system).canvases(`${id} ${born}`, async () => {
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
  return knownOf(system).pages(`${id} ${born} ${page}`, async () => {
    const value: Json | undefined = await system.tasks.body(id, canvasRef.page(born, page))
    return value as unknown as readonly LeafRequest[] | undefined
  })
}

/** Remembers what was read under a name; what is not there, or could not be read, is read again. */
export type Memo<Value> = (name: string, read: () => Promise<Value | undefined>) => Promise<Value | undefined>

/** Forgets what was read longest ago once all that it remembers weighs more than `most`. */
export function createMemo<Value>(most: number, weigh: (value: Value) => number): Memo<Value> {
  const known = new Map<string, { readonly value: Promise<Value | undefined>; weight: number }>()
  let total = 0
  const forget = (name: string) => {
    total -= known.get(name)?.weight ?? 0
    known.delete(name)
  }
  const makeRoom = (kept: string) => {
    for (const old of known.keys()) if (total > most && old !== kept) forget(old)
  }
  const remember = async (name: string, read: () => Promise<Value | undefined>) => {
    const value = read()
    const entry = { value, weight: 0 }
    known.set(name, entry)
    try {
      const present = await value
      // Forgotten while it was read: it weighs nothing here.
      if (known.get(name) !== entry) return
      if (present === undefined) return forget(name)
      entry.weight = weigh(present)
      total += entry.weight
      makeRoom(name)
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
