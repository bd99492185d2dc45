import { readdirSync } from 'node:fs'
import { createSeededChance } from '../../../shared/testing/stores/chance.ts'
import { createDice } from '../generate/dice.ts'
import { absolutePath, sourceOf } from '../planted-source/changed-source.ts'
import { applied, type Mutant, mutantsOf } from './mutate.ts'
import { createTypeCheck } from './type-check.ts'

/** The folders whose code is mutated. */
const ROOMS = ['shared/core', 'shared/runtime/limits', 'shared/aws/dynamo/head'] as const

/** Draws mutants by a seed, evenly over all mutants of the rooms. A mutant with a type error is drawn again. */
export function drawMutants(seed: number, count: number): Mutant[] {
  const paths = ROOMS.flatMap(sourcesBelow)
  const all = paths.flatMap(path => mutantsOf(path, sourceOf(path)))
  const isTyped = createTypeCheck(paths)
  const dice = createDice(createSeededChance(seed))
  const drawn: Mutant[] = []
  while (drawn.length < count && all.length > 0) {
    const [mutant] = all.splice(dice.between(0, all.length - 1), 1)
    if (mutant && isTyped(mutant.path, applied(sourceOf(mutant.path), mutant))) drawn.push(mutant)
  }
  return drawn
}

function sourcesBelow(room: string): string[] {
  return readdirSync(absolutePath(room), { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.ts'))
    .map(name => `${room}/${name}`)
    .sort()
}
