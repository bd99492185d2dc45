import {
  BODY_BYTES_MAX,
  CANVAS_LEAVES_MAX,
  CANVAS_MEMBERS_SHOWN_MAX,
  CANVAS_TASKS_AT_ONCE_MAX,
  DEFAULT_SHARDS,
} from '../../core/bounds.ts'
import { createCanvas, noteStarted } from '../../core/canvas/canvas.ts'
import { evaluate } from '../../core/canvas/evaluate.ts'
import { storedLayout } from '../../core/canvas/layout.ts'
import { type Composition, takeApart } from '../../core/canvas/shape.ts'
import { countMembers, growTree, pathOf, type Tree } from '../../core/canvas/tree.ts'
import { BatonError, type FieldProblem } from '../../core/errors.ts'
import { hash32 } from '../../core/hash.ts'
import { type Json, jsonBytes } from '../../core/json.ts'
import { isGone } from '../../core/publish/publish.ts'
import { CANVAS_TYPE } from '../../core/task/canvas-state.ts'
import { type Task, taskId } from '../../core/task/task.ts'
import { transact } from '../kernel/kernel.ts'
import { sideBySide } from '../kernel/side-by-side.ts'
import type { System } from '../kernel/system.ts'
import { newTraceparent } from '../kernel/traceparent.ts'
import { resolvePublication, type UnknownType } from '../publish/publication-of.ts'
import { batchTypeReader } from '../types/type-cache.ts'
import { type Canvas, type LeafRequest, loadCanvas, memberId } from './canvas.ts'
import { recordMemberEnds } from './count-ends.ts'
import { startLeaves } from './start-leaves.ts'

export type CanvasRequest = {
  /** Made up when left out. */
  readonly key?: string
  readonly composition: Composition<LeafRequest>
  /** How many members are published at a time. */
  readonly sendConcurrency?: number
  readonly traceparent?: string
}

export type CanvasPublished =
  | { readonly ok: true; readonly created: boolean; readonly canvas: Canvas }
  | {
      readonly ok: false
      readonly reason: 'unknown-type'
      readonly unknown: readonly UnknownType[]
      readonly existing: readonly string[]
    }
  | {
      readonly ok: false
      readonly reason: 'invalid' | 'too-large'
      readonly problems: readonly FieldProblem[]
    }

/**
 * Publishes a canvas: stores it, and publishes the members that need not wait for others, or has the waker do so when
 * there are many. A key that exists creates nothing, but goes on with what its publishing may have left undone.
 */
export async function publishCanvas(system: System, request: CanvasRequest): Promise<CanvasPublished> {
  const { shape, leaves } = takeApart(request.composition)
  const tree = growTree(shape)
  const refusal = await refusalOf(system, tree, leaves)
  if (refusal) return refusal
  const pages = pagesOf(leaves)
  const types = leaves.map(({ type }) => type)
  const layout = storedLayout(
    shape,
    types,
    pages.map(({ from }) => from),
  )
  if (jsonBytes(layout) > BODY_BYTES_MAX) return tooIrregular()
  const content = {
    layout,
    pages: pages.map(({ requests }) => requests as unknown as Json),
    leaves: leaves.length,
  }
  const { head, created } = await stored(system, request, content)
  const canvas = await loadCanvas(system, { canvasId: head.key, born: head.born }, head)
  if (!canvas) throw new BatonError('unavailable', `${head.id} vanished while it was published`)
  await begin(system, canvas, head)
  return { ok: true, created, canvas }
}

/** The ids of all its tasks, in the order of the body; undefined when there are too many to tell. */
export function memberIds(canvas: Canvas): string[] | undefined {
  if (canvas.leaves > CANVAS_TASKS_AT_ONCE_MAX || countMembers(canvas.tree) > CANVAS_MEMBERS_SHOWN_MAX)
    return undefined
  return canvas.types.map((_type, leaf) => memberId(canvas, leaf))
}

type Refusal = Extract<CanvasPublished, { ok: false }>

async function refusalOf(
  system: System,
  tree: Tree,
  leaves: readonly LeafRequest[],
): Promise<Refusal | undefined> {
  if (leaves.length > CANVAS_LEAVES_MAX) {
    const message = `has ${leaves.length} tasks; a canvas has at most ${CANVAS_LEAVES_MAX}`
    return { ok: false, reason: 'too-large', problems: [{ path: '', message }] }
  }
  const typeOf = batchTypeReader(system)
  const settings = { ...system, typeOf }
  const found = await sideBySide(leaves, 1, async (request, leaf) => {
    const type = await typeOf(request.type)
    if (!type) return { leaf, problems: [], unknown: [{ type: request.type, path: 'type' }] }
    const resolved = await resolvePublication(settings, type, { ...UNNAMED, ...request })
    return resolved.ok ? undefined : { leaf, ...resolved }
  })
  const refused = found.filter(one => one !== undefined)
  const inLeaf = (leaf: number, path: string) => `${pathOf(tree, leaf)}.${path}`
  const unknown = refused.flatMap(one =>
    one.unknown.map(({ type, path }) => ({ type, path: inLeaf(one.leaf, path) })),
  )
  if (unknown.length > 0) {
    const existing = (await system.types.list()).map(({ type }) => type).sort()
    return { ok: false, reason: 'unknown-type', unknown, existing }
  }
  const problems = refused.flatMap(({ leaf, problems }) =>
    problems.map(({ path, message }) => ({ path: inLeaf(leaf, path), message })),
  )
  return problems.length > 0 ? { ok: false, reason: 'invalid', problems } : undefined
}

/** Key and trace are of no account here, and making them up for 100,000 tasks takes seconds. */
const UNNAMED = { key: 'unnamed', traceparent: '' }

function tooIrregular(): Refusal {
  const message =
    'has too many different parts to be stored: put equal ones side by side, or publish several canvases'
  return { ok: false, reason: 'too-large', problems: [{ path: '', message }] }
}

type Content = { readonly layout: Json; readonly pages: readonly Json[]; readonly leaves: number }

async function stored(
  system: System,
  { key = system.chance.ulid(system.clock.now()), sendConcurrency, traceparent }: CanvasRequest,
  content: Content,
): Promise<{ head: Task; created: boolean }> {
  const { clock, chance } = system
  const id = taskId(CANVAS_TYPE, key)
  const named = {
    key,
    shard: hash32(id) % DEFAULT_SHARDS,
    traceparent: traceparent ?? newTraceparent(chance),
    ...(sendConcurrency !== undefined && { sendConcurrency }),
  }
  // Its pages may be long: a look before costs a repetition one read instead of them.
  const { decision, task } = await transact(system, await system.tasks.head(id), current => {
    const now = clock.now()
    if (current && !isGone(current, now)) return { ok: false as const }
    return {
      ok: true as const,
      change: createCanvas({ ...content, ...named, born: chance.ulid(now) }, current, now),
    }
  })
  if (!task) throw new BatonError('unavailable', `${id} vanished while it was published`)
  return { head: task, created: decision.ok }
}

/** What fails here the planner's look goes on with: the canvas is there. */
async function begin(system: System, canvas: Canvas, head: Task): Promise<void> {
  if (head.state !== 'open' || head.canvas?.started || canvas.leaves > CANVAS_TASKS_AT_ONCE_MAX) return
  try {
    const { reachOf: reach } = evaluate(canvas.tree, () => undefined)
    const first = canvas.types.map((_type, leaf) => leaf).filter(leaf => reach(leaf) === 'ready')
    const refused = await startLeaves(system, canvas, head, first)
    if (refused.length > 0)
      await recordMemberEnds(system, canvas, new Map(refused.map(leaf => [leaf, 'failed'])))
    await transact(system, head, current =>
      current?.born === canvas.born
        ? noteStarted(current, system.clock.now())
        : { ok: false as const, reason: 'nothing-to-note' as const },
    )
  } catch (error) {
    system.log.warn('a canvas was not begun with; the waker goes on', { canvasId: canvas.id, error })
  }
}

/** Publish bodies are stored in items of so many bytes, below the 400 KB that one may have; a longer one has its own. */
const PAGE_BYTES = 300 * 1024

type Page = { readonly from: number; readonly requests: readonly LeafRequest[] }

function pagesOf(leaves: readonly LeafRequest[]): Page[] {
  const pages: Array<{ from: number; requests: LeafRequest[] }> = []
  let room = 0
  for (const [leaf, request] of leaves.entries()) {
    const bytes = jsonBytes(request as unknown as Json) + 1
    if (bytes > room) {
      pages.push({ from: leaf, requests: [] })
      room = PAGE_BYTES
    }
    pages.at(-1)?.requests.push(request)
    room -= bytes
  }
  return pages
}
