import type { End } from '../task/canvas-state.ts'
import { nodeAt, type Tree, type TreeNode } from './tree.ts'

/** Says what the caller knows of a leaf: its end, `open` when it has not ended, or `unknown`. */
export type Knowledge = (leaf: number) => End | 'open' | 'unknown'

/** The states in which a node may be, as bits. A node whose leaves are all known has exactly one state. */
export const RUNNING = 1
export const SUCCEEDED = 2
export const FAILED = 4
const ENDED = SUCCEEDED | FAILED

const BITS = {
  open: RUNNING,
  succeeded: SUCCEEDED,
  failed: FAILED,
  unknown: RUNNING | SUCCEEDED | FAILED,
} as const

/** The possible states of each node of a tree, by its number. */
export type Standings = Uint8Array

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

/** Whether the caller knows of every leaf at or below `node` which end it has, or that it has not ended. */
export function isKnown(node: TreeNode, know: Knowledge): boolean {
  for (let leaf = node.leaves.from; leaf < node.leaves.to; leaf++) if (know(leaf) === 'unknown') return false
  return true
}

/** The leaves that start when `node` starts. */
export function firstLeaves(tree: Tree, node: TreeNode): number[] {
  if (node.kind === 'leaf') return [node.leaves.from]
  if (node.kind === 'group') return node.children.flatMap(child => firstLeaves(tree, nodeAt(tree, child)))
  const [first = -1] = node.children
  return firstLeaves(tree, nodeAt(tree, first))
}
