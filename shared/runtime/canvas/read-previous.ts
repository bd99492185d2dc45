import { groupAt, nodeAt, nodeValue, type TreeNode, valueLeaves } from '../../core/canvas/tree.ts'
import { memberEnd } from '../../core/task/head-fields.ts'
import { resultOf } from '../../core/task/piece.ts'
import type { Task } from '../../core/task/task.ts'
import { escapedBytes, type Json, jsonBytes } from '../../core/values/values.ts'
import type { CanvasName } from '../../ports/stores.ts'
import { bodyValue, readTask, sideBySide } from '../kernel/heads.ts'
import type { System } from '../kernel/system.ts'
import { type LoadedCanvas, loadCanvas, memberId, readMembers } from './canvas.ts'

/** Stands for a value that is longer than its reader can take. */
export const TOO_LONG = Symbol('too long')

/**
 * Reads what was handed on to the task; undefined when nothing was handed on, or when the value has expired. The value of a part of a
 * canvas is built from the results of its members, page by page, unless it would be longer than `maxBytes`.
 */
export async function readPrevious(
  system: Pick<System, 'tasks'>,
  task: Pick<Task, 'id' | 'member' | 'previous'>,
  maxBytes = Number.POSITIVE_INFINITY,
): Promise<Json | undefined | typeof TOO_LONG> {
  const { id, previous } = task
  if (!previous) return undefined
  if (previous.kind === 'body') return bodyValue(system, id, previous.body)
  if (previous.kind === 'result') return system.tasks.body(previous.taskId, previous.ref)
  const canvas = await ownCanvas(system, task, previous)
  if (!canvas) return undefined
  const node = nodeAt(canvas.tree, previous.node)
  const results = await memberResults(system, canvas, valueLeaves(canvas.tree, node), maxBytes)
  if (results === 'too-long') return TOO_LONG
  if (!results) return undefined
  const value = nodeValue(canvas.tree, node, leaf => results.get(leaf) ?? null)
  // The results alone may fit, but brackets and commas count too.
  const isBounded = maxBytes !== Number.POSITIVE_INFINITY
  return isBounded && jsonBytes(value) > maxBytes ? TOO_LONG : value
}

/** The canvas that hands on to the task. Undefined for a head that is not of its member: a program other than Baton wrote that head. */
async function ownCanvas(
  system: Pick<System, 'tasks'>,
  { id, member }: Pick<Task, 'id' | 'member'>,
  name: CanvasName,
): Promise<LoadedCanvas | undefined> {
  const canvas = await loadCanvas(system, name)
  return canvas && member && memberId(canvas, member.leaf) === id ? canvas : undefined
}

type PreviousPage =
  | { readonly ok: true; readonly items: readonly Json[]; readonly next?: number }
  /**
   * `not-a-list`: nothing was handed on, or the value is not a list. `gone`: the result of a member is no longer
   * stored. `too-long`: the item is a list itself and longer than a page.
   */
  | { readonly ok: false; readonly reason: 'not-a-list' | 'gone' | 'too-long' }

/**
 * Reads one page of a list that was handed on, from the item `from` on: at most `limit` items and
 * `maxBytes` of escaped JSON, but at least one item.
 */
export async function readPreviousPage(
  system: Pick<System, 'tasks'>,
  task: Pick<Task, 'id' | 'member' | 'previous'>,
  { from, limit, maxBytes }: { readonly from: number; readonly limit: number; readonly maxBytes: number },
): Promise<PreviousPage> {
  const { previous } = task
  if (previous?.kind !== 'node') return { ok: false, reason: 'not-a-list' }
  const canvas = await ownCanvas(system, task, previous)
  if (!canvas) return { ok: false, reason: 'gone' }
  const { kind, children } = groupAt(canvas.tree, previous.node)
  if (kind !== 'group') return { ok: false, reason: 'not-a-list' }
  for (let count = limit; ; count = Math.floor(count / 2)) {
    const parts = children.slice(from, from + count).map(child => nodeAt(canvas.tree, child))
    const values = await valuesOf(system, canvas, parts, maxBytes)
    if (values === 'too-long' && count > 1) continue
    if (!Array.isArray(values)) return { ok: false, reason: values }
    const items = leadingValues(values, maxBytes)
    const next = from + items.length
    return { ok: true, items, ...(next < children.length && { next }) }
  }
}

async function valuesOf(
  system: Pick<System, 'tasks'>,
  canvas: LoadedCanvas,
  parts: readonly TreeNode[],
  maxBytes: number,
): Promise<Json[] | 'gone' | 'too-long'> {
  const leaves = parts.flatMap(part => valueLeaves(canvas.tree, part))
  const results = await memberResults(system, canvas, leaves, maxBytes)
  if (!results) return 'gone'
  if (results === 'too-long') return results
  const values = parts.map(part => nodeValue(canvas.tree, part, leaf => results.get(leaf) ?? null))
  const [first] = values
  return first !== undefined && escapedBytes(first) > maxBytes ? 'too-long' : values
}

/** The leading values that together take at most `maxBytes` as escaped JSON, but at least one. */
function leadingValues(values: readonly Json[], maxBytes: number): Json[] {
  let bytes = 0
  const end = values.findIndex((value, index) => {
    bytes += escapedBytes(value) + 1
    return bytes > maxBytes && index > 0
  })
  return end < 0 ? [...values] : values.slice(0, end)
}

const PAGE_LEAVES = 500
const READS_AT_ONCE_MAX = 10
/** Against a byte limit each member counts as at least this many bytes. This bounds the reads, however short the results are. */
const BYTES_PER_READ = 200

/**
 * Reads the results of members that have succeeded, by leaf, page by page; undefined when a result has expired, and
 * `too-long` when they take more than `maxBytes`. The result of a member that returned nothing is null.
 */
export async function memberResults(
  system: Pick<System, 'tasks'>,
  canvas: LoadedCanvas,
  leaves: readonly number[],
  maxBytes = Number.POSITIVE_INFINITY,
): Promise<Map<number, Json> | 'too-long' | undefined> {
  const results = new Map<number, Json>()
  if (leaves.length * BYTES_PER_READ > maxBytes) return 'too-long'
  let bytes = 0
  for (let start = 0; start < leaves.length; start += PAGE_LEAVES) {
    const page = leaves.slice(start, start + PAGE_LEAVES)
    const heads = await endedHeads(system, canvas, page)
    bytes += heads.reduce((sum, head) => sum + resultBytes(head), 0)
    if (bytes > maxBytes) return 'too-long'
    const values = await sideBySide(heads, READS_AT_ONCE_MAX, head => resultValue(system, head))
    for (const [index, leaf] of page.entries()) {
      const value = values[index]
      if (value === undefined) return undefined
      results.set(leaf, value)
    }
  }
  return results
}

/**
 * Reads the heads of ended members. The eventually consistent read may lag behind an end that the canvas has
 * counted; such a head is read again strongly.
 */
async function endedHeads(
  { tasks }: Pick<System, 'tasks'>,
  canvas: LoadedCanvas,
  leaves: readonly number[],
): Promise<Array<Task | undefined>> {
  const members = await readMembers({ tasks }, canvas, leaves)
  return sideBySide(leaves, READS_AT_ONCE_MAX, async leaf => {
    const seen = members.get(leaf)
    return seen && memberEnd(seen) ? seen : readTask({ tasks }, memberId(canvas, leaf))
  })
}

function resultBytes(head: Task | undefined): number {
  const result = head && resultOf(head)
  if (!result) return 0
  return 'inline' in result ? jsonBytes(result.inline) : result.bytes
}

/** The result of one member; undefined when it is no longer stored. */
async function resultValue(system: Pick<System, 'tasks'>, head: Task | undefined): Promise<Json | undefined> {
  if (!head || head.state === 'removed' || isStartedOver(head)) return undefined
  const result = resultOf(head)
  return result ? bodyValue(system, head.id, result) : null
}

/** Whether a member that counts as succeeded was started over since: its canvas keeps the first outcome. */
function isStartedOver({ member, state }: Task): boolean {
  return member?.first === 'succeeded' && state !== 'succeeded'
}
