import type { Composition } from '../../../shared/core/canvas/tree.ts'
import { hash32 } from '../../../shared/core/values/text.ts'
import { createSeededChance } from '../../../shared/testing/stores/chance.ts'
import type { Job, Step } from '../scenario.ts'
import type { Cast } from './cast.ts'
import { createDice, type Dice } from './dice.ts'
import { job } from './jobs.ts'

const LEAVES_MAX = 10

/** Small canvases, some of them published twice. In most scenarios operators interfere with them. */
export function canvasSteps(dice: Dice, cast: Cast): Step[] {
  return dice.many(1, 2, index => stepsOf(dice, cast, `c${index + 1}`)).flat()
}

function stepsOf(dice: Dice, cast: Cast, canvas: string): Step[] {
  const budget = { leaves: dice.between(2, LEAVES_MAX) }
  const drawn = part(dice, cast, budget, 2)
  const at = dice.between(100, cast.spanMs)
  const composition = withEqualParts(drawn, cast, `${canvas} at ${at}`)
  const leaves = countOf(composition)
  const publish = {
    do: 'publish-canvas' as const,
    canvas,
    composition,
    ...(dice.odds(0.2) && { sendConcurrency: dice.between(1, 3) }),
  }
  const again = dice.odds(0.2) ? [{ ...publish, at: at + dice.between(1, 10_000) }] : []
  const operations = cast.isCalm ? [] : dice.many(0, 3, () => operation(dice, canvas, leaves, at))
  return [{ ...publish, at }, ...again, ...operations]
}

/**
 * In some canvases, parts of one shape next to each other: a stored layout counts them instead of listing each. They have a chance of
 * their own, so that the other scenarios stay as they were.
 */
function withEqualParts(composition: Composition<Job>, cast: Cast, name: string): Composition<Job> {
  const dice = createDice(createSeededChance(hash32(`equal parts of ${name}`)))
  if (!dice.odds(0.15)) return composition
  const leaf = () => member(dice, cast, { leaves: 0 }, 0)
  return { group: [composition, ...dice.many(2, 3, () => ({ chain: [leaf(), leaf()] }))] }
}

function operation(dice: Dice, canvas: string, leaves: number, publishedAt: number): Step {
  const at = publishedAt + dice.between(0, 15_000)
  const kind = dice.pick(['cancel-canvas', 'read-canvas', 'cancel', 'remove', 'restart', 'restart'] as const)
  if (kind === 'cancel-canvas' || kind === 'read-canvas') return { at, do: kind, canvas }
  return { at, do: 'operate-member', canvas, leaf: dice.between(0, leaves - 1), operation: kind }
}

/** How many more leaves the canvas may have. */
type LeafBudget = { leaves: number }

function part(dice: Dice, cast: Cast, budget: LeafBudget, depth: number): Composition<Job> {
  const kind = dice.pick(['chain', 'group', 'chord', 'chord'] as const)
  const members = () => dice.many(1, 3, () => member(dice, cast, budget, depth - 1))
  if (kind === 'chain') return { chain: members() }
  if (kind === 'group') return { group: members() }
  const group = members()
  const callback = () => member(dice, cast, budget, depth - 1)
  return { chord: { group, then: callback(), ...(dice.odds(0.6) && { onError: callback() }) } }
}

function member(dice: Dice, cast: Cast, budget: LeafBudget, depth: number): Composition<Job> {
  budget.leaves -= 1
  if (depth > 0 && budget.leaves > 2 && dice.odds(0.35)) return part(dice, cast, budget, depth)
  return { leaf: job(dice, cast, cast.has.callbacks ? 1 : 0) }
}

function countOf(composition: Composition<Job>): number {
  if ('leaf' in composition) return 1
  if ('chain' in composition) return sum(composition.chain)
  if ('group' in composition) return sum(composition.group)
  const { group, then, onError } = composition.chord
  return sum([...group, then, ...(onError ? [onError] : [])])
}

function sum(parts: ReadonlyArray<Composition<Job>>): number {
  return parts.reduce((total, one) => total + countOf(one), 0)
}
