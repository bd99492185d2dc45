import type { End } from '../task/canvas-state.ts'
import {
  FAILED,
  firstFailure,
  firstLeaves,
  isKnown,
  type Knowledge,
  RUNNING,
  standingsOf,
} from './standing.ts'
import { leafNode, nodeAt, parentOf, type Tree, type TreeNode } from './tree.ts'

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
 * Finds the consequences of the ends of `leaves`. From each leaf it goes up the tree as long as the part around has ended, too. An
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
