import type { End } from '../task/canvas-state.ts'
import { FAILED, firstFailure, type Knowledge, type Standings, SUCCEEDED, standingsOf } from './standing.ts'
import { nodeAt, type Tree, type TreeNode } from './tree.ts'

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
