import { decodeTime } from 'ulid'
import { expect, it } from 'vitest'
import { systemChance } from '../../../shared/aws/environment.ts'
import { createSeededChance } from '../../../shared/testing/stores/chance.ts'
import { NOW } from '../../support/tasks/a-task.ts'

it('seeded chance gives the same values for one seed, and others for another seed', () => {
  const draw = (seed: number) => {
    const chance = createSeededChance(seed)
    return [chance.fraction(), chance.ulid(NOW), chance.fraction()]
  }

  expect(draw(7)).toEqual(draw(7))
  expect(draw(7)).not.toEqual(draw(8))
})

it('seeded chance gives fractions from 0 to 1, evenly enough', () => {
  const chance = createSeededChance(1)
  const fractions = Array.from({ length: 10_000 }, () => chance.fraction())

  expect(fractions.every(fraction => fraction >= 0 && fraction < 1)).toBe(true)
  expect(fractions.reduce((sum, each) => sum + each, 0) / fractions.length).toBeCloseTo(0.5, 1)
})

it('seeded chance gives different ULIDs whose time part is the given time', () => {
  const chance = createSeededChance(1)
  const ids = Array.from({ length: 1_000 }, () => chance.ulid(NOW))

  expect(new Set(ids).size).toBe(1_000)
  expect(ids.every(id => /^[0-9A-HJKMNP-TV-Z]{26}$/.test(id) && decodeTime(id) === NOW)).toBe(true)
})

it('chance gives ULIDs that sort in the order in which they were made, also within a millisecond', () => {
  for (const chance of [createSeededChance(1), systemChance]) {
    const ids = [NOW, NOW, NOW, NOW + 1, NOW + 1].map(now => chance.ulid(now))

    expect(ids.toSorted()).toEqual(ids)
    expect(decodeTime(chance.ulid(NOW))).toBe(NOW)
  }
})
