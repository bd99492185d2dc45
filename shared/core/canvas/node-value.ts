import type { Json } from '../json.ts'
import { nodeAt, type Tree, type TreeNode } from './tree.ts'

/** The value of a node: of a chain its last's, of a group the array of all, of a chord its callback's. */
export function nodeValue(tree: Tree, node: TreeNode, resultOf: (leaf: number) => Json): Json {
  if (node.kind === 'leaf') return resultOf(node.leaves.from)
  if (node.kind !== 'group') return nodeValue(tree, decisive(tree, node), resultOf)
  return node.children.map(child => nodeValue(tree, nodeAt(tree, child), resultOf))
}

/** The leaves whose results make up the value of a node, in its order. */
export function valueLeaves(tree: Tree, node: TreeNode): number[] {
  if (node.kind === 'leaf') return [node.leaves.from]
  if (node.kind !== 'group') return valueLeaves(tree, decisive(tree, node))
  return node.children.flatMap(child => valueLeaves(tree, nodeAt(tree, child)))
}

function decisive(tree: Tree, { kind, children }: TreeNode): TreeNode {
  return nodeAt(tree, (kind === 'chord' ? children[1] : children.at(-1)) ?? -1)
}

/** The node that gives a node its value: of chains and chords the group, or the leaf, that they come down to. */
export function groupAt(tree: Tree, number: number): TreeNode {
  let at = nodeAt(tree, number)
  while (at.kind === 'chain' || at.kind === 'chord') at = decisive(tree, at)
  return at
}

/** The leaf whose result is the value of a node; undefined when it is put together from several. */
export function soleLeaf(tree: Tree, node: TreeNode): number | undefined {
  const at = groupAt(tree, node.number)
  return at.kind === 'leaf' ? at.leaves.from : undefined
}
