import { BODY_GRACE_MS, CANVAS_TASKS_AT_ONCE_MAX } from '../../core/bounds.ts'
import { CANVAS_BODY_MS, endCanvas } from '../../core/canvas/canvas.ts'
import { chunkOf } from '../../core/canvas/layout.ts'
import { type Followed, firstFailure, follow, type Outcome, standingsOf } from '../../core/canvas/standing.ts'
import { nodeAt, type Source, soleLeaf, sourceOf } from '../../core/canvas/tree.ts'
import type { HandedOn } from '../../core/publish.ts'
import { type Head, isCanvas } from '../../core/task/head.ts'
import { bodyExpiry, type Canvas, type End, type Member, memberEnd } from '../../core/task/head-fields.ts'
import { resultOf } from '../../core/task/piece.ts'
import type { Task } from '../../core/task/task.ts'
import { groupBy, isItemFault, type Json } from '../../core/values/values.ts'
import type { CanvasName } from '../../ports/stores.ts'
import { failureOf, type PlanFailure, readHead, readTask, sideBySide } from '../kernel/heads.ts'
import { transactBirth } from '../kernel/kernel.ts'
import type { System } from '../kernel/system.ts'
import { type PublishOutcome, publish } from '../publish/publish.ts'
import { createArrivals } from '../publish/resolve-publication.ts'
import { batchTypeReader } from '../types/type-cache.ts'
import type { KnownEnds, LoadedCanvas } from './canvas.ts'
import {
  createKnownEnds,
  leafRequest,
  loadCanvas,
  memberError,
  memberId,
  memberKey,
  readEnds,
  sendCanvasLook,
} from './canvas.ts'

type Ends = ReadonlyMap<number, End>

const CANVASES_AT_ONCE_MAX = 4
const CHUNKS_AT_ONCE_MAX = 10

/**
 * Counts the ended members of canvases among these tasks. Then starts the members that waited for them, and ends the canvases that are
 * complete. A count is an addition to a set, and a member's key follows from its canvas. So a batch that is delivered twice, or to two
 * planners, changes nothing the second time. If a process dies after some of these writes, the next delivery does the rest.
 */
export async function countEnds(system: System, tasks: readonly Head[]): Promise<PlanFailure[]> {
  const ended = tasks.flatMap(task => {
    const end = memberEnd(task)
    return end ? [{ ...end, id: task.id }] : []
  })
  const groups = groupBy(ended, ({ member: { canvasId, born } }) => `${born} ${canvasId}`)
  const failures = await sideBySide([...groups.values()], CANVASES_AT_ONCE_MAX, async group => {
    try {
      const [first] = group
      if (first) await countCanvasEnds(system, first.member, group)
      return []
    } catch (error) {
      return group.map(({ id }) => failureOf(id, error))
    }
  })
  return failures.flat()
}

type Ended = { readonly id: string; readonly member: Member; readonly end: End }

/** Counts the members of a canvas. A head may name a canvas whose member it is not, if a program other than Baton wrote it. */
async function countCanvasEnds(system: System, name: CanvasName, ended: readonly Ended[]): Promise<void> {
  const canvas = await loadCanvas(system, name)
  if (!canvas) return
  const members = ended.filter(({ id, member }) => memberId(canvas, member.leaf) === id)
  const ends: Ends = new Map(members.map(({ member, end }) => [member.leaf, end]))
  if (ends.size > 0) await recordMemberEnds(system, canvas, ends)
}

/**
 * Adds ends to the counts of a canvas, publishes the members that may start now, and ends the canvas when its last member has ended. Other
 * chunks of ends, of 200 leaves each, are read only where these ends show that a part of the canvas may have ended.
 */
export async function recordMemberEnds(system: System, canvas: LoadedCanvas, ends: Ends): Promise<void> {
  const known = createKnownEnds(canvas)
  await addEnds(system, canvas, known, ends)
  const followed = await followedBy(system, canvas, known, [...ends.keys()])
  if (followed.start.length === 0 && !followed.outcome) return
  const head = await readHead(system, canvas.id, isCanvas)
  if (head?.born !== canvas.born || head.state !== 'open') return
  const starting = followed.start.filter(leaf => known.endOf(leaf) === undefined)
  const refused = await startOrDefer(system, canvas, head, starting)
  if (followed.outcome) await recordCanvasEnd(system, canvas, head, followed.outcome)
  if (refused.length > 0)
    await recordMemberEnds(system, canvas, new Map(refused.map(leaf => [leaf, 'failed'])))
}

async function addEnds(system: System, canvas: LoadedCanvas, known: KnownEnds, ends: Ends): Promise<void> {
  const chunks = groupBy(ends, ([leaf]) => chunkOf(leaf))
  const expiresAt = system.clock.now() + CANVAS_BODY_MS
  await sideBySide([...chunks], CHUNKS_AT_ONCE_MAX, async ([chunk, members]) => {
    const leavesThat = (end: End) => members.filter(([, ended]) => ended === end).map(([leaf]) => leaf)
    const added = { ok: leavesThat('succeeded'), bad: leavesThat('failed') }
    known.add(chunk, await system.canvases.addEnds(canvas, chunk, added, expiresAt))
  })
}

async function followedBy(
  system: System,
  canvas: LoadedCanvas,
  known: KnownEnds,
  leaves: readonly number[],
): Promise<Followed> {
  for (;;) {
    const followed = follow(canvas.tree, leaves, known.standingOf)
    if (followed.unsure.length === 0) return followed
    const unread = followed.unsure.map(node => node.leaves)
    await readEnds(system, canvas, known, unread)
  }
}

/**
 * Starts a few members here, and returns those that will never run. A message leaves many members to the jobs
 * function, because the stream must not wait for them.
 */
async function startOrDefer(
  system: System,
  canvas: LoadedCanvas,
  head: Canvas,
  leaves: readonly number[],
): Promise<number[]> {
  const [from] = leaves
  if (from === undefined || leaves.length <= CANVAS_TASKS_AT_ONCE_MAX)
    return startLeaves(system, canvas, head, leaves)
  await sendCanvasLook(system, canvas, from)
  return []
}

const SEND_CONCURRENCY = 25

/**
 * Publishes the members at these leaves; members that are published already stay as they are. `head` is the
 * head of the canvas, read just before with strong consistency: only an open canvas starts members.
 *
 * Returns the leaves that will never run. A publish is refused for good when its type has changed, when another
 * task has the member's key, or when the stored body cannot be read.
 *
 * @throws BatonError when the store does not answer.
 */
export async function startLeaves(
  system: System,
  canvas: LoadedCanvas,
  head: Canvas,
  leaves: readonly number[],
): Promise<number[]> {
  const handedOnTo = handedOnReader(system, canvas)
  const sendConcurrency = head.canvas?.sendConcurrency ?? SEND_CONCURRENCY
  const typeOf = batchTypeReader(system)
  const arrivals = createArrivals(system, leaves.length)
  const outcomes = await sideBySide(leaves, sendConcurrency, async (leaf, index) => {
    const arrival = arrivals[index]
    const request = await leafRequest(system, canvas, leaf)
    const previous = request.immutable ? undefined : await handedOnTo(leaf)
    const publication = {
      ...(head.traceparent !== undefined && { traceparent: head.traceparent }),
      ...request,
      key: memberKey(canvas.born, leaf),
      once: true as const,
      ...(arrival && { arrival }),
      member: { canvasId: canvas.canvasId, born: canvas.born, leaf },
      ...(previous && { previous }),
    }
    const outcome = await publish(system, publication, typeOf)
    if (outcome.ok) await renewHandedOnResult(system, outcome.task)
    return outcome
  })
  return leaves.filter((leaf, index) => isRefused(system, canvas, leaf, outcomes[index]))
}

function isRefused(
  system: System,
  { id, born }: LoadedCanvas,
  leaf: number,
  outcome: PublishOutcome | undefined,
): boolean {
  if (!outcome || (outcome.ok && outcome.task.member?.born === born)) return false
  const isOutcomeUnknown = !outcome.ok && outcome.reason === 'error' && !isItemFault(outcome.error)
  if (isOutcomeUnknown) throw outcome.error
  system.log.error('a member of a canvas cannot be published; it counts as failed', {
    canvasId: id,
    leaf,
    outcome,
  })
  return true
}

/** Creates a reader of the values that are handed on to leaves that start together. Leaves with the same value share one read. */
function handedOnReader(
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
async function renewHandedOnResult(
  { tasks, clock }: System,
  { previous, dueAt, options }: Task,
): Promise<void> {
  const now = clock.now()
  if (previous?.kind !== 'result' || dueAt - now < BODY_GRACE_MS) return
  await tasks.renewBody(previous.taskId, previous.ref, bodyExpiry(dueAt, now, options.retentionMs))
}

/** Ends a canvas, with the error of its first failed member. A canvas that has ended stays as it is. */
export async function recordCanvasEnd(
  system: System,
  canvas: LoadedCanvas,
  head: Canvas,
  outcome: Outcome,
): Promise<void> {
  const why = outcome.end === 'failed' ? await memberError(system, canvas, outcome.failure) : undefined
  await transactBirth(system, head, current =>
    endCanvas(current, { end: outcome.end, ...(why && { error: why.error }) }, system.clock.now()),
  )
}
