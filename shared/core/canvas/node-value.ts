import type { Json } from '../values/json.ts'
import { nodeAt, type Tree, type TreeNode } from './tree.ts'

/**
 * The value of a node. A chain has the value of its last member, a group an array of its members' values, a chord the value of its
 * callback.
 */
export function nodeValue(tree: Tree, node: TreeNode, resultOf: (leaf: number) => Json): Json {
  if (node.kind === 'leaf') return resultOf(node.leaves.from)
  if (node.kind !== 'group') return nodeValue(tree, decisiveChild(tree, node), resultOf)
  return node.children.map(child => nodeValue(tree, nodeAt(tree, child), resultOf))
}

/** The leaves whose results make up the value of a node, in order. */
export function valueLeaves(tree: Tree, node: TreeNode): number[] {
  if (node.kind === 'leaf') return [node.leaves.from]
  if (node.kind !== 'group') return valueLeaves(tree, decisiveChild(tree, node))
  return node.children.flatMap(child => valueLeaves(tree, nodeAt(tree, child)))
}

/** The child that gives a chain or a chord its value. */
function decisiveChild(tree: Tree, { kind, children }: TreeNode): TreeNode {
  return nodeAt(tree, (kind === 'chord' ? children[1] : children.at(-1)) ?? -1)
}

/** The group or leaf that gives a node its value. For chains and chords it lies below the node. */
export function groupAt(tree: Tree, number: number): TreeNode {
  let at = nodeAt(tree, number)
  while (at.kind === 'chain' || at.kind === 'chord') at = decisiveChild(tree, at)
  return at
}

/** The leaf whose result is the value of a node; undefined when several leaves make up the value. */
export function soleLeaf(tree: Tree, node: TreeNode): number | undefined {
  const at = groupAt(tree, node.number)
  return at.kind === 'leaf' ? at.leaves.from : undefined
}
