import type { Chance } from '../../../shared/ports/machine.ts'

/** Chance in the forms that generators need. */
export type Dice = {
  odds(share: number): boolean
  /** A whole number, both ends included. */
  between(least: number, most: number): number
  pick<T>(choices: readonly T[]): T
  /** Some of them, in their order. */
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
