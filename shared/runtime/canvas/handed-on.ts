import { BODY_GRACE_MS } from '../../core/bounds.ts'
import { firstFailure, standingsOf } from '../../core/canvas/standing.ts'
import { nodeAt, type Source, soleLeaf, sourceOf } from '../../core/canvas/tree.ts'
import type { HandedOn } from '../../core/publish/publish.ts'
import { bodyExpiry } from '../../core/task/body.ts'
import { resultOf } from '../../core/task/piece.ts'
import type { Task } from '../../core/task/task.ts'
import type { Json } from '../../core/values/json.ts'
import { readTask } from '../kernel/read-heads.ts'
import type { System } from '../kernel/system.ts'
import { type LoadedCanvas, memberId } from './canvas.ts'
import { memberError } from './end-canvas.ts'
import { createKnownEnds, readEnds } from './known-ends.ts'

/**
 * Creates a reader of the values that are handed on to leaves that start together. Leaves with the same value share
 * one read.
 */
export function handedOnReader(
  system: System,
  canvas: LoadedCanvas,
): (leaf: number) => Promise<HandedOn | undefined> {
  const read = new Map<string, Promise<HandedOn | undefined>>()
  return leaf => {
    const source = sourceOf(canvas.tree, leaf)
    if (source.kind === 'none') return Promise.resolve(undefined)
    const name = `${source.kind} ${source.node}`
    const known = read.get(name)
    if (known) return known
    const fresh = handedOn(system, canvas, source)
    read.set(name, fresh)
    return fresh
  }
}

async function handedOn(
  system: System,
  canvas: LoadedCanvas,
  source: Exclude<Source, { kind: 'none' }>,
): Promise<HandedOn> {
  if (source.kind === 'error') {
    const value = await firstError(system, canvas, source.node)
    return { kind: 'value', handOn: 'prepend', value: value as unknown as Json }
  }
  const { node, handOn } = source
  const leaf = soleLeaf(canvas.tree, nodeAt(canvas.tree, node))
  if (leaf !== undefined) return resultOfLeaf(system, canvas, leaf, handOn)
  return { kind: 'node', handOn, canvasId: canvas.canvasId, born: canvas.born, node }
}

async function resultOfLeaf(
  { tasks }: System,
  canvas: LoadedCanvas,
  leaf: number,
  handOn: HandedOn['handOn'],
): Promise<HandedOn> {
  const taskId = memberId(canvas, leaf)
  const head = await readTask({ tasks }, taskId)
  const result = head && head.state !== 'removed' ? resultOf(head) : undefined
  if (!result) return { kind: 'value', handOn, value: null }
  if ('inline' in result) return { kind: 'value', handOn, value: result.inline }
  return { kind: 'result', handOn, taskId, ref: result.ref, bytes: result.bytes }
}

async function firstError(system: System, canvas: LoadedCanvas, nodeIndex: number) {
  const node = nodeAt(canvas.tree, nodeIndex)
  const known = createKnownEnds(canvas)
  await readEnds(system, canvas, known, [node.leaves])
  const standings = standingsOf(canvas.tree, known.standingOf, node)
  return memberError(system, canvas, firstFailure(canvas.tree, standings, node))
}

/**
 * Keeps a handed-on result stored until the receiving task has ended. A result in an item of its own outlives its
 * task by a month, so only a receiver that is due more than 30 days from now needs this.
 */
export async function renewHandedOnResult(
  { tasks, clock }: System,
  { previous, dueAt, options }: Task,
): Promise<void> {
  const now = clock.now()
  if (previous?.kind !== 'result' || dueAt - now < BODY_GRACE_MS) return
  await tasks.renewBody(previous.taskId, previous.ref, bodyExpiry(dueAt, now, options.retentionMs))
}
