import fc from 'fast-check'
import { type Composition, growTree, type Tree, takeApart } from '../../../shared/core/canvas/tree.ts'

export type Canvas = Composition<string>

export const a: Canvas = { leaf: 'a' }
export const chain = (...members: Canvas[]): Canvas => ({ chain: members })
export const group = (...members: Canvas[]): Canvas => ({ group: members })
export const chord = (members: Canvas[], then: Canvas, onError?: Canvas): Canvas => ({
  chord: { group: members, then, ...(onError && { onError }) },
})

export function treeOf(canvas: Canvas): Tree {
  return growTree(takeApart(canvas).shape)
}

/** Any small canvas. */
export const canvases: fc.Arbitrary<Canvas> = fc.letrec<{ canvas: Canvas }>(tie => ({
  canvas: fc.oneof(
    { maxDepth: 4, depthSize: 'small' },
    fc.constant(a),
    fc.array(tie('canvas'), { minLength: 1, maxLength: 4 }).map(members => chain(...members)),
    fc.array(tie('canvas'), { minLength: 1, maxLength: 4 }).map(members => group(...members)),
    fc
      .tuple(
        fc.array(tie('canvas'), { minLength: 1, maxLength: 3 }),
        tie('canvas'),
        fc.option(tie('canvas'), { nil: undefined }),
      )
      .map(([members, then, onError]) => chord(members, then, onError)),
  ),
})).canvas
