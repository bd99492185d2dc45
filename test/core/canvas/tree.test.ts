import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { layoutFrom, pageOf, storedLayout } from '../../../shared/core/canvas/layout.ts'
import { evaluate, follow } from '../../../shared/core/canvas/standing.ts'
import type { Tree, TreeNode } from '../../../shared/core/canvas/tree.ts'
import {
  leafNode,
  nodeAt,
  nodeValue,
  pathOf,
  sourceOf,
  takeApart,
  valueLeaves,
} from '../../../shared/core/canvas/tree.ts'
import { a, type Canvas, canvases, chain, chord, group, treeOf } from './a-canvas.ts'

function pathsOf(tree: Tree): string[] {
  return tree.leafNodes.map((_node, leaf) => pathOf(tree, leaf))
}

/** The leaf that a path of the body leads to. */
function at(canvas: Canvas, path: string): unknown {
  const found = path
    .split('.')
    .reduce<unknown>((value, step) => (value as Record<string, unknown>)[step], canvas)
  return found
}

function wrongPaths(canvas: Canvas, paths: readonly string[]): string[] {
  return 'leaf' in canvas ? [] : paths.filter(path => at(canvas, path) !== a)
}

/** Children that do not know their parent. */
function strangers(tree: Tree, { number, children }: TreeNode): number[] {
  return children.filter(child => nodeAt(tree, child).parent !== number)
}

describe('a tree', () => {
  it('numbers its leaves in the order of the body, a chord’s callbacks after its group', () => {
    const canvas = chain(a, chord([a, group(a, a)], chain(a, a), a), group(a))

    expect(pathsOf(treeOf(canvas))).toEqual([
      'chain.0',
      'chain.1.chord.group.0',
      'chain.1.chord.group.1.group.0',
      'chain.1.chord.group.1.group.1',
      'chain.1.chord.then.chain.0',
      'chain.1.chord.then.chain.1',
      'chain.1.chord.onError',
      'chain.2.group.0',
    ])
  })

  it('has a path into the body for each leaf, in order, for any canvas', () => {
    fc.assert(
      fc.property(canvases, canvas => {
        const { leaves } = takeApart(canvas)
        const tree = treeOf(canvas)

        const paths = pathsOf(tree)

        expect(new Set(paths).size).toBe(leaves.length)
        expect(wrongPaths(canvas, paths)).toEqual([])
        expect(tree.nodes.flatMap(node => strangers(tree, node))).toEqual([])
      }),
    )
  })

  it.each([
    ['a group of 10,000', group(...Array.from({ length: 10_000 }, () => a))],
    ['10,000 equal chords', group(...Array.from({ length: 10_000 }, () => chord([a, a], a)))],
  ])('of %s is written in less than 100 bytes', (_name, canvas) => {
    expect(JSON.stringify(takeApart(canvas).shape).length).toBeLessThan(100)
  })

  it('nests a hundred deep', () => {
    let canvas = group(a, a)
    for (let depth = 1; depth < 100; depth++) canvas = depth % 2 ? chain(canvas, a) : chord([canvas], a)
    const tree = treeOf(canvas)

    expect(evaluate(tree, () => 'succeeded').status).toBe('succeeded')
    expect(pathOf(tree, 0).split('.').length).toBeGreaterThan(200)
  })

  it('of 10,000 leaves finds the consequences of an end in milliseconds', () => {
    const tree = treeOf(
      chord(
        Array.from({ length: 10_000 }, () => a),
        a,
      ),
    )
    const startedAt = performance.now()

    for (let batch = 0; batch < 100; batch++)
      follow(tree, [batch], leaf => (leaf === batch ? 'failed' : 'unknown'))

    expect(performance.now() - startedAt).toBeLessThan(2_000)
  })
})

describe('what a leaf gets', () => {
  const tree = treeOf(chain(a, group(a, chain(a, a)), chord([a, a], chord([a], a), chain(a, a)), a))
  const kindOf = (node: number) => {
    const { kind, leaves } = nodeAt(tree, node)
    return `${kind} ${leaves.from}–${leaves.to - 1}`
  }

  it.each([
    ['the first of a chain: nothing', 0, 'none'],
    ['a member of the next group: the value', 1, 'append leaf 0–0'],
    ['the first of a chain in it: the same', 2, 'append leaf 0–0'],
    ['the second of that chain: what the first made', 3, 'append leaf 2–2'],
    ['members of a chord behind a group: its array as one', 5, 'append group 1–3'],
    ['a chord that is the callback of a chord: as many arguments', 6, 'spread group 4–5'],
    ['its own callback: its own members', 7, 'spread group 6–6'],
    ['the first of an error callback: the error', 8, 'error group 4–5'],
    ['its second: what the first made', 9, 'append leaf 8–8'],
    ['who follows a chord: its value', 10, 'append chord 4–9'],
  ])('%s', (_name, leaf, expected) => {
    const source = sourceOf(tree, leaf)

    const text = {
      none: () => 'none',
      value: () => (source.kind === 'value' ? `${source.handOn} ${kindOf(source.node)}` : ''),
      error: () => (source.kind === 'error' ? `error ${kindOf(source.node)}` : ''),
    }[source.kind]()
    expect(text).toBe(expected)
  })
})

describe('the value', () => {
  it('of a chain is its last’s, of a group an array, of a chord its callback’s', () => {
    const tree = treeOf(chain(a, group(a, chain(a, a), chord([a, a], a, a), group(a))))

    const value = nodeValue(tree, nodeAt(tree, 0), leaf => leaf)

    expect(value).toEqual([1, 3, 6, [8]])
    expect(valueLeaves(tree, nodeAt(tree, 0))).toEqual([1, 3, 6, 8])
    expect(nodeValue(tree, leafNode(tree, 2), leaf => leaf)).toBe(2)
  })
})

it('a stored layout is read unchanged, for any types of leaves', () => {
  const runs = fc.array(fc.tuple(fc.integer({ min: 0, max: 800 }), fc.integer({ min: 1, max: 12 })), {
    minLength: 1,
  })
  fc.assert(
    fc.property(runs, all => {
      const types = all.flatMap(([name, count]) => new Array<string>(count).fill(`type-${name}`))

      const layout = layoutFrom(storedLayout({ group: [types.length] }, types, [0]))

      expect(layout.types).toEqual(types)
      expect(layout.tree.leafNodes).toHaveLength(types.length)
    }),
  )
})

it('the stored layout of many equal tasks is small', () => {
  const types = new Array<string>(10_000).fill('resize')

  const stored = storedLayout({ group: [10_000] }, types, [0])

  expect(JSON.stringify(stored).length).toBeLessThan(100)
})

it.each([
  [0, 0],
  [4, 0],
  [5, 1],
  [11, 2],
])('leaf %i is on page %i', (leaf, page) => {
  const layout = layoutFrom(storedLayout({ group: [12] }, new Array<string>(12).fill('a'), [0, 5, 9]))

  expect(pageOf(layout, leaf)).toBe(page)
})
