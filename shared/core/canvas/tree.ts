import type { Json } from '../values/values.ts'

/**
 * The role of a node in its parent: a member of a chain or group, or the group, the callback or the error callback of a chord. A
 * chord's group is a node of its own, so that it has a value.
 */
type Role = 'root' | 'item' | 'members' | 'then' | 'onError'

export type TreeNode = {
  readonly kind: 'leaf' | 'chain' | 'group' | 'chord'
  readonly number: number
  /** The number of the parent; -1 at the root. */
  readonly parent: number
  readonly role: Role
  /** The position among the parent's children. */
  readonly position: number
  /** The numbers of the children. The children of a chord are its group, its callback, and its error callback if it has one. */
  readonly children: readonly number[]
  /** The first number after the numbers of the nodes below. They are numbered without gaps from the node's own number on. */
  readonly end: number
  /** The leaves at or below the node, by their numbers as leaves: from `from` up to, but without, `to`. */
  readonly leaves: { readonly from: number; readonly to: number }
}

/**
 * A canvas as numbered nodes. Each node has a smaller number than the nodes below it. Leaves have a second number among themselves,
 * in the order of the body: a chord's group, then its callback, then its error callback.
 */
export type Tree = {
  readonly nodes: readonly TreeNode[]
  /** The node of each leaf. */
  readonly leafNodes: readonly number[]
}

type Growing = { readonly nodes: TreeNode[]; readonly leafNodes: number[] }
type Seat = { readonly parent: number; readonly role: Role; readonly position: number }

export function growTree(shape: Shape): Tree {
  const tree: Growing = { nodes: [], leafNodes: [] }
  for (const single of singles([shape])) grow(tree, single, { parent: -1, role: 'root', position: 0 })
  return tree
}

/** Adds a node and all nodes below it, and returns its number. The recursion is as deep as canvases nest, which is bounded. */
function grow(tree: Growing, shape: Single, seat: Seat): number {
  if (shape === 1) return addNode(tree, 'leaf', seat, () => [])
  if ('chain' in shape) return addNode(tree, 'chain', seat, own => growItems(tree, shape.chain, own))
  if ('group' in shape) return addNode(tree, 'group', seat, own => growItems(tree, shape.group, own))
  const [members, ...callbacks] = shape.chord
  return addNode(tree, 'chord', seat, parent => {
    const group = grow(tree, { group: members }, { parent, role: 'members', position: 0 })
    const rest = [...singles(callbacks)].map((callback, index) => {
      const role = index === 0 ? 'then' : 'onError'
      return grow(tree, callback, { parent, role, position: index + 1 })
    })
    return [group, ...rest]
  })
}

function addNode(
  { nodes, leafNodes }: Growing,
  kind: TreeNode['kind'],
  seat: Seat,
  growChildren: (own: number) => number[],
): number {
  const number = nodes.length
  const from = leafNodes.length
  const node = { kind, number, ...seat, children: [], end: number + 1, leaves: { from, to: from } }
  nodes.push(node)
  if (kind === 'leaf') leafNodes.push(number)
  const children = growChildren(number)
  nodes[number] = { ...node, children, end: nodes.length, leaves: { from, to: leafNodes.length } }
  return number
}

function growItems(tree: Growing, siblings: readonly Shape[], parent: number): number[] {
  const numbers: number[] = []
  for (const single of singles(siblings)) {
    numbers.push(grow(tree, single, { parent, role: 'item', position: numbers.length }))
  }
  return numbers
}

type Single = 1 | Extract<Shape, { chain: unknown } | { group: unknown } | { chord: unknown }>

/** Each sibling singly: `n` becomes n leaves, and `times` that many equal parts. */
function* singles(shapes: readonly Shape[]): Generator<Single> {
  for (const shape of shapes) {
    if (typeof shape === 'number') for (let n = 0; n < shape; n++) yield 1
    else if (!('times' in shape)) yield shape
    else for (let n = 0; n < shape.times; n++) yield shape.of
  }
}

export function nodeAt({ nodes }: Tree, number: number): TreeNode {
  const node = nodes[number]
  if (!node) throw new RangeError(`a canvas of ${nodes.length} nodes has no node ${number}`)
  return node
}

export function leafNode(tree: Tree, leaf: number): TreeNode {
  return nodeAt(tree, tree.leafNodes[leaf] ?? -1)
}

export function parentOf(tree: Tree, node: TreeNode): TreeNode | undefined {
  return node.parent < 0 ? undefined : nodeAt(tree, node.parent)
}

/** The number of leaves that are not in a callback of a chord. */
export function countMembers(tree: Tree): number {
  const isCalledBack = (node: TreeNode): boolean => {
    if (node.role === 'then' || node.role === 'onError') return true
    const parent = parentOf(tree, node)
    return parent !== undefined && isCalledBack(parent)
  }
  return tree.leafNodes.filter(number => !isCalledBack(nodeAt(tree, number))).length
}

/** The path of a leaf in the body: `chain.0`, `chord.group.3`, `chain.1.chord.then`. */
export function pathOf(tree: Tree, leaf: number): string {
  const parts: string[] = []
  let node = leafNode(tree, leaf)
  for (let parent = parentOf(tree, node); parent; parent = parentOf(tree, node)) {
    parts.push(stepInto(parent, node))
    node = parent
  }
  return parts.reverse().join('.')
}

function stepInto(parent: TreeNode, { role, position }: TreeNode): string {
  if (role === 'members') return 'chord.group'
  if (role === 'then' || role === 'onError') return `chord.${role}`
  return parent.role === 'members' ? String(position) : `${parent.kind}.${position}`
}

/** The source of the value that a leaf gets when it starts: none, the value of a node, or the first error in a group. */
export type Source =
  | { readonly kind: 'none' }
  | { readonly kind: 'value'; readonly node: number; readonly handOn: 'append' | 'spread' }
  | { readonly kind: 'error'; readonly node: number }

/**
 * The source of the value that is handed on to a leaf. Each leaf that starts with the next part of a chain or chord gets the value:
 * all members of a group, the first member of a chain, the members of a chord's group.
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

/**
 * The form of a canvas without its tasks, as it is stored. `1` is a leaf, `n` is n leaves side by side, and equal siblings
 * in a row are written once. A group of 10,000 tasks is `{"group":[10000]}`.
 */
export type Shape =
  | number
  | { readonly chain: readonly Shape[] }
  | { readonly group: readonly Shape[] }
  /** The chord's group, its callback, and its error callback if it has one. */
  | { readonly chord: readonly [group: readonly Shape[], ...callbacks: Shape[]] }
  | { readonly times: number; readonly of: Exclude<Shape, number | { readonly times: number }> }

/** A canvas as a caller writes it: chains, groups and chords, with tasks as leaves. */
export type Composition<Leaf> =
  | { readonly leaf: Leaf }
  | { readonly chain: ReadonlyArray<Composition<Leaf>> }
  | { readonly group: ReadonlyArray<Composition<Leaf>> }
  | {
      readonly chord: {
        readonly group: ReadonlyArray<Composition<Leaf>>
        readonly then: Composition<Leaf>
        readonly onError?: Composition<Leaf>
      }
    }

/** Separates the form of a canvas from its tasks. The tasks are in the order of the leaves' numbers. */
export function takeApart<Leaf>(composition: Composition<Leaf>): { shape: Shape; leaves: Leaf[] } {
  const leaves: Leaf[] = []
  return { shape: shapeOf(composition, leaves), leaves }
}

function shapeOf<Leaf>(composition: Composition<Leaf>, leaves: Leaf[]): Exclude<Shape, { times: number }> {
  if ('leaf' in composition) {
    leaves.push(composition.leaf)
    return 1
  }
  if ('chain' in composition) return { chain: siblings(composition.chain, leaves) }
  if ('group' in composition) return { group: siblings(composition.group, leaves) }
  const { group, then, onError } = composition.chord
  const callbacks = [then, ...(onError ? [onError] : [])]
  return { chord: [siblings(group, leaves), ...callbacks.map(one => shapeOf(one, leaves))] }
}

function siblings<Leaf>(members: ReadonlyArray<Composition<Leaf>>, leaves: Leaf[]): Shape[] {
  const shapes: Shape[] = []
  let lastText = ''
  for (const member of members) {
    const shape = shapeOf(member, leaves)
    const text = JSON.stringify(shape)
    const last = shapes.at(-1)
    if (last === undefined || text !== lastText) shapes.push(shape)
    else shapes[shapes.length - 1] = oneMore(last)
    lastText = text
  }
  return shapes
}

function oneMore(shape: Shape): Shape {
  if (typeof shape === 'number') return shape + 1
  return 'times' in shape ? { ...shape, times: shape.times + 1 } : { times: 2, of: shape }
}
