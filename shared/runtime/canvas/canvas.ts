/**
 * A canvas is a chain, a group or a chord of tasks, nested at will and published as a whole. This room publishes its members in the
 * right order, counts their ends, and hands results on.
 *
 * The problem. A chord of 10,000 tasks must start its `then` exactly once, after the last of them has ended, although each end may
 * be reported twice and any process may die between any two writes. No single item can take 10,000 writes at once.
 *
 * What is stored:
 *
 * - The head of the canvas: its state, and where its tree is. No worker can claim it.
 * - The tree and the publish requests of its leaves, in pages. They never change, so each process reads them once.
 * - The members: ordinary tasks that name their canvas and their leaf. Each key follows from the birth of the canvas and the leaf,
 *   so publishing a member twice creates one task.
 * - The ends: for each 200 leaves one item with two sets of leaf numbers, those that succeeded and those that failed. An addition
 *   to a set that has the number already changes nothing. This makes counting exact under repetition.
 *
 * What happens:
 *
 * 1. `publish-canvas.ts` stores tree, pages and head, and publishes the leaves that may start. The jobs function does that for more
 *    than a few (`drive-canvas.ts`), and continues in further messages (`continueCanvas` below).
 * 2. A member ends. The stream delivers its end, and `count-ends.ts` adds the leaf to its set.
 * 3. `core/canvas/standing.ts` goes up the tree from that leaf, as long as the part around it has ended too. It answers which leaves
 *    start now, or that the whole canvas has ended. It may ask for the ends of other leaves first (`KnownEnds` below).
 * 4. `count-ends.ts` publishes those leaves, or ends the canvas.
 * 5. A member that follows others receives a reference to their results. They are read page by page (`read-previous.ts`) after its
 *    claim: when its run begins, or for the answer of a claim over HTTP.
 *
 * What can go wrong:
 *
 * - Two planners count the last two members at the same time. Each reads the sets after its own addition, so at least one of them
 *   sees all ends. If both do, both publish the same key.
 * - A process dies after counting and before publishing. Lambda delivers the stream's batch again, and the next planner does the
 *   rest.
 * - A message is lost for good. Once a minute `sweep-canvases.ts` checks some members of open canvases, from a random leaf on.
 * - A member is removed, cancelled or started over. Its first end counts, once and for ever (`core/task/head-fields.ts`).
 * - The canvas is cancelled. `drive-canvas.ts` cancels its members, and its head owes that until it is done.
 *
 * `describe-canvas.ts` answers requests. This file reads one birth of a canvas.
 */

import { canvasRef, noteProgress } from '../../core/canvas/canvas.ts'
import { CHUNK_LEAVES, chunksOf, type Layout, layoutFrom, pageOf } from '../../core/canvas/layout.ts'
import type { Knowledge } from '../../core/canvas/standing.ts'
import { isGone } from '../../core/publish.ts'
import { isCanvas } from '../../core/task/head.ts'
import { CANVAS_TYPE, type Canvas, type End } from '../../core/task/head-fields.ts'
import { type Task, taskId } from '../../core/task/task.ts'
import type { TaskError } from '../../core/task-error/task-error.ts'
import { BatonError } from '../../core/values/values.ts'
import type { CanvasEnds, CanvasName } from '../../ports/stores.ts'
import { bodyValue, fullError, readHead, readTask, readTasks } from '../kernel/heads.ts'
import { ofSameBirth, transact } from '../kernel/kernel.ts'
import { processMemory, type System } from '../kernel/system.ts'
import type { PublishRequest } from '../publish/resolve-publication.ts'

/** The publish request of one leaf, without the fields that make the task a member. */
export type LeafRequest = Omit<
  PublishRequest,
  'key' | 'ifExists' | 'clean' | 'previous' | 'parentId' | 'member'
>

/** The parts of one birth of a canvas that never change. */
export type LoadedCanvas = CanvasName & Layout & { readonly id: string; readonly leaves: number }

/** The nodes of all canvases that a process remembers: some 30 MB. */
const NODES_MAX = 200_000
const PAGES_MAX = 16

/** Each process reads the parts of a canvas that never change only once per store. */
const memoriesOf = processMemory(() => ({
  canvases: createMemo<LoadedCanvas>(NODES_MAX, ({ tree }) => tree.nodes.length),
  pages: createMemo<readonly LeafRequest[]>(PAGES_MAX, () => 1),
}))

type Reading = Pick<System, 'tasks'>

/** The canvas of this name and birth; undefined when that birth is gone. A given `head` saves one read. */
export async function loadCanvas(
  system: Reading,
  { canvasId, born }: CanvasName,
  head?: Canvas,
): Promise<LoadedCanvas | undefined> {
  const id = taskId(CANVAS_TYPE, canvasId)
  return memoriesOf(system.tasks).canvases(`${id} ${born}`, async () => {
    const current = head ?? (await readHead(system, id, isCanvas))
    if (!current?.canvas || current.born !== born) return undefined
    const layout = await bodyValue(system, id, current.canvas.tree)
    if (layout === undefined) throw new BatonError('unavailable', `the tree of ${id} cannot be read`)
    return { id, canvasId, born, leaves: current.canvas.leaves, ...layoutFrom(layout) }
  })
}

/** The birth of a canvas to which this head belongs. */
export function canvasOf(system: Reading, head: Canvas): Promise<LoadedCanvas | undefined> {
  return loadCanvas(system, { canvasId: head.key, born: head.born }, head)
}

/** The canvas that readers find under an id, with its head; undefined when there is none. */
export async function readCanvasOf(
  system: Pick<System, 'tasks' | 'clock'>,
  id: string,
): Promise<{ readonly head: Canvas; readonly canvas: LoadedCanvas } | undefined> {
  const head = await readHead(system, id, isCanvas)
  if (!head?.canvas || isGone(head, system.clock.now())) return undefined
  const canvas = await canvasOf(system, head)
  return canvas && { head, canvas }
}

/** The published members at these leaves, by leaf, read as `heads` reads them: eventually consistent. */
export async function readMembers(
  system: Reading,
  canvas: LoadedCanvas,
  leaves: readonly number[],
): Promise<Map<number, Task>> {
  const leafOf = new Map(leaves.map(leaf => [memberId(canvas, leaf), leaf]))
  const tasks = await readTasks(system, [...leafOf.keys()])
  return new Map(tasks.map(task => [leafOf.get(task.id) ?? 0, task]))
}

export function memberId({ born, types }: LoadedCanvas, leaf: number): string {
  return taskId(types[leaf] ?? '', memberKey(born, leaf))
}

export function memberKey(born: string, leaf: number): string {
  return `${born}.${leaf}`
}

export async function leafRequest(system: Reading, canvas: LoadedCanvas, leaf: number): Promise<LeafRequest> {
  const { id, born, pages } = canvas
  const page = pageOf(canvas, leaf)
  const requests = await memoriesOf(system.tasks).pages(`${id} ${born} ${page}`, async () => {
    const value = await system.tasks.body(id, canvasRef.page(born, page))
    return value as readonly LeafRequest[] | undefined
  })
  const request = requests?.[leaf - (pages[page] ?? 0)]
  if (!request) throw new BatonError('unavailable', `page ${page} of ${id} cannot be read`)
  return request
}

/** Remembers what was read under a name. A value that is missing, or that could not be read, is read again. */
type Memo<Value> = (name: string, read: () => Promise<Value | undefined>) => Promise<Value | undefined>

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
      const fresh = await value
      // The memory forgot this value while it was read, so it adds no weight.
      if (known.get(name) !== entry) return
      if (fresh === undefined) return forget(name)
      entry.weight = weigh(fresh)
      total += entry.weight
      evictOldest(name)
    } catch {
      if (known.get(name) === entry) forget(name)
    }
  }
  return (name, read) => {
    const remembered = known.get(name)
    if (remembered) return remembered.value
    const done = remember(name, read)
    const value = known.get(name)?.value
    return done.then(() => value)
  }
}

const NAMES = ['unknown', 'open', 'succeeded', 'failed'] as const
const OPEN = 1
const SUCCEEDED = 2
const FAILED = 3

/** The counted ends of a canvas's members that were read so far, chunk by chunk. */
export type KnownEnds = {
  readonly standingOf: Knowledge
  /** How the leaf has ended; undefined when it has not ended, or when its chunk was not read. */
  endOf(leaf: number): End | undefined
  add(chunk: number, ends: CanvasEnds): void
  hasChunk(chunk: number): boolean
}

export function createKnownEnds({ leaves }: LoadedCanvas): KnownEnds {
  const states = new Uint8Array(leaves)
  const chunks = new Set<number>()
  const standingOf: Knowledge = leaf => NAMES[states[leaf] ?? 0] ?? 'unknown'
  return {
    standingOf,
    endOf: leaf => {
      const state = standingOf(leaf)
      return state === 'succeeded' || state === 'failed' ? state : undefined
    },
    add: (chunk, { ok, bad }) => {
      chunks.add(chunk)
      const from = chunk * CHUNK_LEAVES
      states.fill(OPEN, from, Math.min(leaves, from + CHUNK_LEAVES))
      for (const leaf of ok) states[leaf] = SUCCEEDED
      for (const leaf of bad) states[leaf] = FAILED
    },
    hasChunk: chunk => chunks.has(chunk),
  }
}

/** Reads the ends of the leaves in these ranges, except for chunks that are known already. */
export async function readEnds(
  { canvases }: Pick<System, 'canvases'>,
  canvas: LoadedCanvas,
  known: KnownEnds,
  ranges: ReadonlyArray<{ readonly from: number; readonly to: number }>,
): Promise<void> {
  const chunks = [...new Set(ranges.flatMap(chunksOf))].filter(chunk => !known.hasChunk(chunk))
  const read = await canvases.ends(canvas, chunks)
  for (const [chunk, ends] of read) known.add(chunk, ends)
}

export async function readAllEnds(
  system: Pick<System, 'canvases'>,
  canvas: LoadedCanvas,
): Promise<KnownEnds> {
  const known = createKnownEnds(canvas)
  await readEnds(system, canvas, known, [{ from: 0, to: canvas.leaves }])
  return known
}

/**
 * Sends a message that continues the work on the canvas, beginning with the leaf number `from`. It first updates the
 * change time of the head, so that the sweeper does not take that message for lost.
 */
export async function continueCanvas(
  system: System,
  { id, born }: Pick<Canvas, 'id' | 'born'>,
  from: number,
): Promise<void> {
  await transact(
    system,
    await readHead(system, id, isCanvas),
    ofSameBirth({ born }, current => noteProgress(current, system.clock.now())),
  )
  await sendCanvasLook(system, { id, born }, from)
}

/**
 * Sends a message to work on the canvas, beginning with the leaf number `from`.
 *
 * @throws BatonError `unavailable` when the message cannot be sent.
 */
export async function sendCanvasLook(
  system: System,
  { id, born }: Pick<Canvas, 'id' | 'born'>,
  from: number,
): Promise<void> {
  const [failure] = await system.messages.lookAtCanvases([{ id, born, from, delaySeconds: 0 }])
  if (failure) throw new BatonError('unavailable', `a look at ${id} could not be sent: ${failure.reason}`)
}

/** The error for which a member counts as failed. */
export async function memberError(
  system: Reading,
  canvas: LoadedCanvas,
  leaf: number,
): Promise<{ readonly error: TaskError; readonly taskId: string }> {
  const taskId = memberId(canvas, leaf)
  const task = await readTask(system, taskId)
  const implied = task && impliedError(task)
  return {
    taskId,
    error: task?.error && !implied ? await fullError(system, task) : (implied ?? notPublished(taskId)),
  }
}

/**
 * The error that follows from a member's state when no run failed: removed, cancelled, or started over.
 * Undefined when the task has an error of its own.
 */
export function impliedError({ id, state, error, member }: Task): TaskError | undefined {
  if (state === 'removed') return { name: 'Removed', message: `${id} was removed` }
  if (state === 'cancelled') return { name: 'Cancelled', message: `${id} was cancelled` }
  if (error) return undefined
  return member?.first === 'failed'
    ? { name: 'StartedOver', message: `${id} had failed or was stopped before it was started over` }
    : undefined
}

function notPublished(taskId: string): TaskError {
  return { name: 'NotPublished', message: `${taskId} could not be published` }
}
