import {
  BODY_BYTES_MAX,
  CANVAS_LEAVES_MAX,
  CANVAS_MEMBERS_SHOWN_MAX,
  CANVAS_TASKS_AT_ONCE_MAX,
  DEFAULT_SHARDS,
} from '../../core/bounds.ts'
import { createCanvas, noteStarted } from '../../core/canvas/canvas.ts'
import { storedLayout } from '../../core/canvas/layout.ts'
import { evaluate } from '../../core/canvas/standing.ts'
import type { Composition, Tree } from '../../core/canvas/tree.ts'
import { countMembers, growTree, pathOf, takeApart } from '../../core/canvas/tree.ts'
import { isGone } from '../../core/publish.ts'
import { isCanvas } from '../../core/task/head.ts'
import { CANVAS_TYPE, type Canvas } from '../../core/task/head-fields.ts'
import { taskId } from '../../core/task/task.ts'
import { hash32 } from '../../core/values/text.ts'
import { BatonError, type FieldProblem, type Json, jsonBytes } from '../../core/values/values.ts'
import { readHead, sideBySide } from '../kernel/heads.ts'
import { transact, transactBirth } from '../kernel/kernel.ts'
import { newTraceparent } from '../kernel/log-run-ends.ts'
import type { System } from '../kernel/system.ts'
import { resolveRequest, type UnknownType } from '../publish/resolve-publication.ts'
import { batchTypeReader } from '../types/type-cache.ts'
import { registeredNames } from '../types/types.ts'
import { canvasOf, type LeafRequest, type LoadedCanvas, memberId } from './canvas.ts'
import { recordMemberEnds, startLeaves } from './count-ends.ts'

export type CanvasRequest = {
  /** Generated when left out. */
  readonly key?: string
  readonly composition: Composition<LeafRequest>
  /** How many members are published at the same time. */
  readonly sendConcurrency?: number
  readonly traceparent?: string
}

export type CanvasPublished =
  | { readonly ok: true; readonly created: boolean; readonly canvas: LoadedCanvas }
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
 * Stores a canvas, and publishes the members that need not wait for another member. If the canvas is large, the jobs function publishes
 * them. A publish under an existing key creates nothing, but completes what the first publish may have left undone.
 */
export async function publishCanvas(system: System, request: CanvasRequest): Promise<CanvasPublished> {
  const { shape, leaves } = takeApart(request.composition)
  const tree = growTree(shape)
  const refusal = await refusalOf(system, tree, leaves)
  if (refusal) return refusal
  const pages = pagesOf(leaves)
  const types = leaves.map(({ type }) => type)
  const firstLeaves = pages.map(({ from }) => from)
  const layout = storedLayout(shape, types, firstLeaves)
  if (jsonBytes(layout) > BODY_BYTES_MAX) return layoutTooLong()
  const content = {
    layout,
    pages: pages.map(({ requests }) => requests as unknown as Json),
    leaves: leaves.length,
  }
  const { head, created } = await storeCanvas(system, request, content)
  const canvas = await canvasOf(system, head)
  if (!canvas) throw new BatonError('unavailable', `${head.id} vanished while it was published`)
  await startFirstLeaves(system, canvas, head)
  return { ok: true, created, canvas }
}

/** The ids of all members, in the order of the publish body; undefined when there are too many to list. */
export function memberIds(canvas: LoadedCanvas): string[] | undefined {
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
  const settings = { ...system, typeOf: batchTypeReader(system), isHandedOnTo: true as const }
  const found = await sideBySide(leaves, 1, async (request, leaf) => {
    const resolved = await resolveRequest(settings, { ...PLACEHOLDERS, ...request })
    return resolved.ok ? undefined : { leaf, ...resolved }
  })
  const refused = found.filter(one => one !== undefined)
  const inLeaf = (leaf: number, path: string) => `${pathOf(tree, leaf)}.${path}`
  const unknown = refused.flatMap(one =>
    one.unknown.map(({ type, path }) => ({ type, path: inLeaf(one.leaf, path) })),
  )
  if (unknown.length > 0) {
    return { ok: false, reason: 'unknown-type', unknown, existing: await registeredNames(system) }
  }
  const problems = refused.flatMap(({ leaf, problems }) =>
    problems.map(({ path, message }) => ({ path: inLeaf(leaf, path), message })),
  )
  return problems.length > 0 ? { ok: false, reason: 'invalid', problems } : undefined
}

/** A check needs neither key nor trace, and generating them for 100,000 tasks takes seconds. */
const PLACEHOLDERS = { key: 'unnamed', traceparent: '' }

function layoutTooLong(): Refusal {
  const message =
    'has too many different parts to be stored: put equal parts next to each other, or publish several canvases'
  return { ok: false, reason: 'too-large', problems: [{ path: '', message }] }
}

async function storeCanvas(
  system: System,
  { key = system.chance.ulid(system.clock.now()), sendConcurrency, traceparent }: CanvasRequest,
  content: { readonly layout: Json; readonly pages: readonly Json[]; readonly leaves: number },
): Promise<{ head: Canvas; created: boolean }> {
  const { clock, chance } = system
  const id = taskId(CANVAS_TYPE, key)
  const named = {
    key,
    shard: hash32(id) % DEFAULT_SHARDS,
    traceparent: traceparent ?? newTraceparent(chance),
    ...(sendConcurrency !== undefined && { sendConcurrency }),
  }
  // The pages may be long. Reading the head first spares a repeated publish from writing them again.
  const { decision, head } = await transact(system, await readHead(system, id, isCanvas), current => {
    const now = clock.now()
    if (current && !isGone(current, now)) return { ok: false as const }
    return {
      ok: true as const,
      change: createCanvas({ ...content, ...named, born: chance.ulid(now) }, current, now),
    }
  })
  if (!head) throw new BatonError('unavailable', `${id} vanished while it was published`)
  return { head, created: decision.ok }
}

/**
 * Publishes the first members. The canvas is stored already, so the planner sends a look at it, and the jobs
 * function completes what fails here.
 */
async function startFirstLeaves(system: System, canvas: LoadedCanvas, head: Canvas): Promise<void> {
  if (head.state !== 'open' || head.canvas?.started || canvas.leaves > CANVAS_TASKS_AT_ONCE_MAX) return
  try {
    const { reachOf: reach } = evaluate(canvas.tree, () => undefined)
    const first = canvas.types.map((_type, leaf) => leaf).filter(leaf => reach(leaf) === 'ready')
    const refused = await startLeaves(system, canvas, head, first)
    if (refused.length > 0)
      await recordMemberEnds(system, canvas, new Map(refused.map(leaf => [leaf, 'failed'])))
    await transactBirth(system, head, current => noteStarted(current, system.clock.now()))
  } catch (error) {
    system.log.warn('the first members of a canvas were not all published; the jobs function continues', {
      canvasId: canvas.id,
      error,
    })
  }
}

/** The publish bodies of the leaves share items of this size, below the 400 KB that an item may have. A longer body has its own item. */
const PAGE_BYTES = 300 * 1024

type Page = { readonly from: number; readonly requests: readonly LeafRequest[] }

function pagesOf(leaves: readonly LeafRequest[]): Page[] {
  const pages: Array<{ from: number; requests: LeafRequest[] }> = []
  let bytesLeft = 0
  for (const [leaf, request] of leaves.entries()) {
    const bytes = jsonBytes(request as unknown as Json) + 1
    if (bytes > bytesLeft) {
      pages.push({ from: leaf, requests: [] })
      bytesLeft = PAGE_BYTES
    }
    pages.at(-1)?.requests.push(request)
    bytesLeft -= bytes
  }
  return pages
}
