import type { Chance } from '../../../shared/ports/machine.ts'

/** Random choices in the forms that generators need. */
export type Dice = {
  odds(share: number): boolean
  /** A whole number from `least` to `most`, both included. */
  between(least: number, most: number): number
  pick<T>(choices: readonly T[]): T
  /** A part of the choices, in their order. `share` is the probability of each. */
  some<T>(choices: readonly T[], share: number): T[]
  many<T>(least: number, most: number, make: (index: number) => T): T[]
}

export function createDice(chance: Pick<Chance, 'fraction'>): Dice {
  const odds = (share: number) => chance.fraction() < share
  const between = (least: number, most: number) => least + Math.floor(chance.fraction() * (most - least + 1))
  return {
    odds,
    between,
    pick: choices => choices[between(0, choices.length - 1)] as (typeof choices)[number],
    some: (choices, share) => choices.filter(() => odds(share)),
    many: (least, most, make) => Array.from({ length: between(least, most) }, (_, index) => make(index)),
  }
}
