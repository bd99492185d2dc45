import { leafNode, nodeAt, parentOf, type Tree } from './tree.ts'

/** What a leaf gets when it starts: nothing, the value of a node, or the first error among the members of a group. */
export type Source =
  | { readonly kind: 'none' }
  | { readonly kind: 'value'; readonly node: number; readonly handOn: 'append' | 'spread' }
  | { readonly kind: 'error'; readonly node: number }

/**
 * What is handed on to a leaf. A successor that is a group hands it to each of its members, a chain to its first, a
 * chord to the members of its group: whatever starts with the successor gets it.
 */
export function sourceOf(tree: Tree, leaf: number): Source {
  let node = leafNode(tree, leaf)
  for (let parent = parentOf(tree, node); parent; parent = parentOf(tree, node)) {
    const { role, position } = node
    const [group = -1] = parent.children
    if (role === 'then') return { kind: 'value', node: group, handOn: 'spread' }
    if (role === 'onError') return { kind: 'error', node: group }
    if (parent.kind === 'chain' && position > 0) {
      const before = nodeAt(tree, parent.children[position - 1] ?? -1)
      return { kind: 'value', node: before.number, handOn: 'append' }
    }
    node = parent
  }
  return { kind: 'none' }
}
