import type { End } from '../task/head-fields.ts'
import { leafNode, nodeAt, parentOf, type Tree, type TreeNode } from './tree.ts'

/** Says what the caller knows of a leaf: its end, `open` when it has not ended, or `unknown`. */
export type Knowledge = (leaf: number) => End | 'open' | 'unknown'

/** The states in which a node may be, as bits. A node whose leaves are all known has exactly one state. */
const RUNNING = 1
const SUCCEEDED = 2
const FAILED = 4
const ENDED = SUCCEEDED | FAILED

const BITS = {
  open: RUNNING,
  succeeded: SUCCEEDED,
  failed: FAILED,
  unknown: RUNNING | SUCCEEDED | FAILED,
} as const

/** The possible states of each node of a tree, by its number. */
type Standings = Uint8Array

/**
 * The possible states of `top` and each node below it; all other entries are 0. A chain stops at its first failure. A group has
 * ended when all its members have ended, and has then failed if one of them failed. A chord whose group failed has failed when its
 * error callback, if it has one, has ended.
 */
export function standingsOf(tree: Tree, know: Knowledge, top: TreeNode = nodeAt(tree, 0)): Standings {
  const standings = new Uint8Array(tree.nodes.length)
  let leaf = top.leaves.to
  // Each node has a smaller number than the nodes below it, so going backwards computes the nodes below first.
  for (let number = top.end - 1; number >= top.number; number--) {
    const node = nodeAt(tree, number)
    if (node.kind === 'leaf') leaf--
    standings[number] = node.kind === 'leaf' ? BITS[know(leaf)] : standingOf(node, standings)
  }
  return standings
}

function standingOf({ kind, children }: TreeNode, standings: Standings): number {
  const below = (index: number) => standings[children[index] ?? -1] ?? 0
  switch (kind) {
    case 'chain':
      return chainStanding(children, standings)
    case 'chord':
      return chordStanding(below(0), below(1), below(2))
    default:
      return groupStanding(children, standings)
  }
}

function chainStanding(children: readonly number[], standings: Standings): number {
  let met = 0
  for (const child of children) {
    const standing = standings[child] ?? 0
    met |= standing & ~SUCCEEDED
    if ((standing & SUCCEEDED) === 0) return met
  }
  return met | SUCCEEDED
}

function groupStanding(children: readonly number[], standings: Standings): number {
  let met = 0
  let common = RUNNING | SUCCEEDED | FAILED
  let mayEnd = true
  for (const child of children) {
    const standing = standings[child] ?? 0
    met |= standing
    common &= standing
    if ((standing & ENDED) === 0) mayEnd = false
  }
  if (!mayEnd) return RUNNING
  return (met & (RUNNING | FAILED)) | (common & SUCCEEDED)
}

/** The possible states of a chord. `onError` is 0 where the chord has no error callback. */
function chordStanding(group: number, then: number, onError: number): number {
  let standing = group & RUNNING
  if (group & SUCCEEDED) standing |= then
  if (group & FAILED) standing |= onError === 0 ? FAILED : onError & RUNNING
  if (group & FAILED && onError & ENDED) standing |= FAILED
  return standing
}

/** The first failed leaf of a node that has failed, in member order. */
export function firstFailure(tree: Tree, standings: Standings, node: TreeNode): number {
  let at = node
  while (at.kind !== 'leaf') {
    // A chord never fails because of its error callback.
    const candidates = at.kind === 'chord' ? at.children.slice(0, 2) : at.children
    const failed = candidates.find(child => standings[child] === FAILED)
    if (failed === undefined) throw new RangeError(`node ${at.number} of a canvas has not failed`)
    at = nodeAt(tree, failed)
  }
  return at.leaves.from
}

/** Whether the caller knows the end of every leaf at or below `node`, or that the leaf has not ended. */
function isKnown(node: TreeNode, know: Knowledge): boolean {
  for (let leaf = node.leaves.from; leaf < node.leaves.to; leaf++) if (know(leaf) === 'unknown') return false
  return true
}

function firstLeaves(tree: Tree, node: TreeNode): number[] {
  if (node.kind === 'leaf') return [node.leaves.from]
  if (node.kind === 'group') return node.children.flatMap(child => firstLeaves(tree, nodeAt(tree, child)))
  const [first = -1] = node.children
  return firstLeaves(tree, nodeAt(tree, first))
}

/** The state of a canvas. It follows from the ends of all members; a member without an end has not ended yet. */
export type Evaluation = {
  readonly status: 'running' | End
  /** The first failed leaf of a failed canvas, in member order. */
  readonly failure?: number
  /**
   * The reach of a leaf: whether it may start. `ready`: nothing keeps it from being published, or it has started already.
   * `waiting`: it waits for the ends of other leaves. `skipped`: it never runs, because a leaf before it failed, or because it
   * belongs to the error callback of a group that succeeded.
   */
  reachOf(leaf: number): Reach
}

type Reach = 'waiting' | 'ready' | 'skipped'

const REACHES: readonly Reach[] = ['waiting', 'ready', 'skipped']
const WAITING = 0
const READY = 1
const SKIPPED = 2

export function evaluate(tree: Tree, endOf: (leaf: number) => End | undefined): Evaluation {
  const know: Knowledge = leaf => endOf(leaf) ?? 'open'
  const standings = standingsOf(tree, know)
  const reaches = reachesOf(tree, standings)
  const root = standings[0]
  return {
    status: root === SUCCEEDED ? 'succeeded' : root === FAILED ? 'failed' : 'running',
    ...(root === FAILED && { failure: firstFailure(tree, standings, nodeAt(tree, 0)) }),
    reachOf: leaf => REACHES[reaches[tree.leafNodes[leaf] ?? -1] ?? WAITING] ?? 'waiting',
  }
}

function reachesOf(tree: Tree, standings: Standings): Uint8Array {
  const reaches = new Uint8Array(tree.nodes.length)
  reaches[0] = READY
  for (const node of tree.nodes) {
    const own = reaches[node.number] ?? WAITING
    // A node comes before the nodes below it. All nodes below a waiting node wait, and all below a skipped node are skipped.
    if (own === READY) reachBelow(node, standings, reaches)
    else for (const child of node.children) reaches[child] = own
  }
  return reaches
}

function reachBelow({ kind, children }: TreeNode, standings: Standings, reaches: Uint8Array): void {
  if (kind === 'chord') {
    reachChord(children, standings, reaches)
    return
  }
  let reach = READY
  for (const child of children) {
    reaches[child] = reach
    if (kind === 'group' || reach !== READY || standings[child] === SUCCEEDED) continue
    reach = standings[child] === FAILED ? SKIPPED : WAITING
  }
}

function reachChord(
  [group = -1, then = -1, onError]: readonly number[],
  standings: Standings,
  reaches: Uint8Array,
): void {
  const groupSucceeded = standings[group] === SUCCEEDED
  const groupFailed = standings[group] === FAILED
  reaches[group] = READY
  reaches[then] = groupSucceeded ? READY : groupFailed ? SKIPPED : WAITING
  if (onError !== undefined) reaches[onError] = groupFailed ? READY : groupSucceeded ? SKIPPED : WAITING
}

/** The consequences of the ends of some leaves. */
export type Followed = {
  /** The leaves that start now, or that started when an earlier call saw the same ends. */
  readonly start: readonly number[]
  /** Set when the whole canvas has ended. */
  readonly outcome?: Outcome
  /** Nodes that may have ended. The caller must read the ends of all leaves below them to decide. */
  readonly unsure: readonly TreeNode[]
}

export type Outcome = { readonly end: 'succeeded' } | { readonly end: 'failed'; readonly failure: number }

/** An ended part of a canvas. */
type Ended = { readonly node: TreeNode; readonly outcome: Outcome }

/**
 * Finds the consequences of the ends of `leaves`. From each leaf it goes up the tree as long as the node above has ended, too. An
 * ended leaf has started, so all leaves before it in a chain have succeeded. A chain therefore needs no other check.
 */
export function follow(tree: Tree, leaves: readonly number[], know: Knowledge): Followed {
  const seen = new Set<number>()
  const ways = leaves.map(leaf => wayUp(tree, endedLeaf(tree, leaf, know), know, seen))
  const start = new Set(ways.flatMap(({ start }) => (start ? firstLeaves(tree, start) : [])))
  const outcome = ways.find(({ ended }) => ended)?.ended?.outcome
  return {
    start: [...start].sort((a, b) => a - b),
    unsure: ways.flatMap(({ unsure }) => unsure ?? []),
    ...(outcome && { outcome }),
  }
}

/** Goes up as far as parts have ended. If the answer has `ended`, that is the whole canvas. */
function wayUp(tree: Tree, from: Ended | undefined, know: Knowledge, seen: Set<number>): StepUp {
  let step: StepUp = { ...(from && { ended: from }) }
  while (step.ended) {
    const parent = parentOf(tree, step.ended.node)
    if (!parent) break
    step = stepUp(tree, parent, step.ended, know, seen)
  }
  return step
}

/** The result of going up one level of the tree. */
type StepUp = { readonly start?: TreeNode; readonly ended?: Ended; readonly unsure?: TreeNode }

function endedLeaf(tree: Tree, leaf: number, know: Knowledge): Ended | undefined {
  const end = know(leaf)
  if (end !== 'succeeded' && end !== 'failed') return undefined
  return { node: leafNode(tree, leaf), outcome: outcomeOf(end, leaf) }
}

function outcomeOf(end: End, failure: number): Outcome {
  return end === 'succeeded' ? { end } : { end, failure }
}

function stepUp(tree: Tree, parent: TreeNode, ended: Ended, know: Knowledge, seen: Set<number>): StepUp {
  switch (parent.kind) {
    case 'chain': {
      const next = ended.outcome.end === 'succeeded' ? parent.children[ended.node.position + 1] : undefined
      return next === undefined ? { ended: { ...ended, node: parent } } : { start: nodeAt(tree, next) }
    }
    case 'chord':
      return stepUpChord(tree, parent, ended, know)
    default:
      // When several members of a group end in one call, the first one checks the group for all of them.
      if (seen.has(parent.number)) return {}
      seen.add(parent.number)
      return endOfNode(tree, parent, know)
  }
}

function stepUpChord(tree: Tree, chord: TreeNode, { node, outcome }: Ended, know: Knowledge): StepUp {
  const [group = -1, then = -1, onError] = chord.children
  if (node.role === 'then') return { ended: { node: chord, outcome } }
  if (node.role === 'members' && outcome.end === 'succeeded') return { start: nodeAt(tree, then) }
  if (node.role === 'members' && onError !== undefined) return { start: nodeAt(tree, onError) }
  if (node.role === 'members') return { ended: { node: chord, outcome } }
  // The error callback has ended. The failure of the chord is in its group.
  const { ended, unsure } = endOfNode(tree, nodeAt(tree, group), know)
  return { ...(unsure && { unsure }), ...(ended && { ended: { ...ended, node: chord } }) }
}

function endOfNode(tree: Tree, node: TreeNode, know: Knowledge): StepUp {
  const standings = standingsOf(tree, know, node)
  const standing = standings[node.number]
  if (standing === RUNNING) return {}
  if (!isKnown(node, know)) return { unsure: node }
  const failure = standing === FAILED ? firstFailure(tree, standings, node) : -1
  return { ended: { node, outcome: outcomeOf(standing === FAILED ? 'failed' : 'succeeded', failure) } }
}
