/**
 * The form of a canvas without its tasks, as it is stored. `1` is a leaf, `n` stands for n leaves side by side, and equal siblings
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
