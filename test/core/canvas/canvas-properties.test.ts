import fc from 'fast-check'
import { expect, it } from 'vitest'
import { evaluate, follow, type Knowledge } from '../../../shared/core/canvas/standing.ts'
import { growTree, type Tree, type TreeNode, takeApart } from '../../../shared/core/canvas/tree.ts'
import type { End } from '../../../shared/core/task/head-fields.ts'
import { type Canvas, canvases } from './a-canvas.ts'
import { modelOf, progressOf } from './naive-model.ts'

/** A canvas, whether each of its leaves fails, and the order in which started leaves end. */
const lives = fc.tuple(
  canvases,
  fc.array(fc.boolean(), { minLength: 1, maxLength: 8 }),
  fc.array(fc.nat(), { minLength: 1, maxLength: 8 }),
)

type Moment = { ends: ReadonlyMap<number, End>; batch: readonly number[] }

/** Plays a canvas to its end by the model alone. Returns for each moment the ends so far and the newest of them. */
function* moments(canvas: Canvas, failing: readonly boolean[], dice: readonly number[]): Generator<Moment> {
  const model = modelOf(canvas)
  const ends = new Map<number, End>()
  yield { ends, batch: [] }
  for (let round = 0; ; round++) {
    const open = progressOf(model, leaf => ends.get(leaf)).started.filter(leaf => !ends.has(leaf))
    if (open.length === 0) return
    const throwOf = (n: number) => dice[(round + n) % dice.length] ?? 0
    const batch = [
      ...new Set([0, 1, 2].slice(0, 1 + (throwOf(0) % 3)).map(n => open[throwOf(n) % open.length]!)),
    ]
    for (const leaf of batch) ends.set(leaf, failing[leaf % failing.length] ? 'failed' : 'succeeded')
    yield { ends, batch }
  }
}

function leavesOf(tree: Tree): number[] {
  return tree.leafNodes.map((_node, leaf) => leaf)
}

function leavesBelow({ leaves }: TreeNode): number[] {
  return Array.from({ length: leaves.to - leaves.from }, (_, index) => leaves.from + index)
}

it('a canvas agrees with the model at any moment: its status, its first failure and its started leaves', () => {
  fc.assert(
    fc.property(lives, ([canvas, failing, dice]) => {
      const tree = growTree(takeApart(canvas).shape)
      for (const { ends } of moments(canvas, failing, dice)) {
        const expected = progressOf(modelOf(canvas), leaf => ends.get(leaf))

        const { status, failure, reachOf: reach } = evaluate(tree, leaf => ends.get(leaf))

        expect({ status, failure }).toEqual({ status: expected.status, failure: expected.failure })
        const ready = leavesOf(tree).filter(leaf => reach(leaf) === 'ready')
        expect(ready).toEqual(expected.started.toSorted((x, y) => x - y))
        if (status !== 'running') expect(leavesOf(tree).filter(leaf => reach(leaf) === 'waiting')).toEqual([])
      }
    }),
    { numRuns: 2_000 },
  )
})

it('a batch of ends starts the leaves that the model starts after the batch and not before it', () => {
  fc.assert(
    fc.property(lives, ([canvas, failing, dice]) => {
      const tree = growTree(takeApart(canvas).shape)
      const model = modelOf(canvas)
      let before = new Set<number>(leavesOf(tree))
      for (const { ends, batch } of moments(canvas, failing, dice)) {
        const now = progressOf(model, leaf => ends.get(leaf))

        const followed = follow(tree, batch, leaf => ends.get(leaf) ?? 'open')

        const started = now.started.filter(leaf => !before.has(leaf)).toSorted((x, y) => x - y)
        expect(followed.start).toEqual(started)
        expect(followed.unsure).toEqual([])
        expect(followed.outcome?.end ?? 'running').toBe(batch.length === 0 ? 'running' : now.status)
        if (followed.outcome?.end === 'failed') expect(followed.outcome.failure).toBe(now.failure)
        before = new Set(now.started)
      }
    }),
    { numRuns: 2_000 },
  )
})

it('a canvas of which only some ends are known finds the consequences or names the part that it must know', () => {
  fc.assert(
    fc.property(lives, fc.integer({ min: 1, max: 4 }), ([canvas, failing, dice], chunk) => {
      const tree = growTree(takeApart(canvas).shape)
      for (const { ends, batch } of moments(canvas, failing, dice)) {
        const know: Knowledge = leaf => ends.get(leaf) ?? 'open'
        const read = new Set(batch.map(leaf => Math.floor(leaf / chunk)))
        const knowPart: Knowledge = leaf => (read.has(Math.floor(leaf / chunk)) ? know(leaf) : 'unknown')
        const complete = follow(tree, batch, know)

        let part = follow(tree, batch, knowPart)
        while (part.unsure.length > 0) {
          const known = read.size
          for (const leaf of part.unsure.flatMap(leavesBelow)) read.add(Math.floor(leaf / chunk))
          expect(read.size).toBeGreaterThan(known)
          part = follow(tree, batch, knowPart)
        }

        expect(part).toEqual(complete)
      }
    }),
    { numRuns: 2_000 },
  )
})

it('a repeated batch of ends starts the same leaves again', () => {
  fc.assert(
    fc.property(lives, ([canvas, failing, dice]) => {
      const tree = growTree(takeApart(canvas).shape)
      const started = new Set(
        leavesOf(tree).filter(leaf => evaluate(tree, () => undefined).reachOf(leaf) === 'ready'),
      )
      const batches: Array<readonly number[]> = []
      let last: ReadonlyMap<number, End> = new Map()
      for (const { ends, batch } of moments(canvas, failing, dice)) {
        batches.push(batch)
        last = ends
      }

      for (const batch of batches.toReversed()) {
        for (const leaf of follow(tree, batch, one => last.get(one) ?? 'open').start) started.add(leaf)
      }

      const expected = progressOf(modelOf(canvas), leaf => last.get(leaf)).started
      expect([...started].toSorted((x, y) => x - y)).toEqual(expected.toSorted((x, y) => x - y))
    }),
    { numRuns: 1_000 },
  )
})
