import { readdirSync } from 'node:fs'
import { hash32 } from '../../../shared/core/values/text.ts'
import { absolutePath, sourceOf } from '../planted-source/changed-source.ts'
import { applied, type Mutant, mutantsOf, nameOf } from './mutate.ts'
import { createTypeCheck } from './type-check.ts'

/** The folders whose code is mutated. */
const ROOMS = ['shared/core', 'shared/runtime/limits', 'shared/aws/dynamo/head'] as const

/**
 * Draws mutants by a seed, evenly over all mutants of the rooms. A mutant with a type error is drawn again.
 *
 * The seed and the name of a mutant decide when it is drawn. So a change of the source replaces only the mutants of the changed lines,
 * and the explanations of all others in `survivors.md` stay valid.
 */
export function drawMutants(seed: number, count: number): Mutant[] {
  const paths = ROOMS.flatMap(sourcesBelow)
  const isTyped = createTypeCheck(paths)
  const inOrder = paths
    .flatMap(path => mutantsOf(path, sourceOf(path)))
    .map(mutant => ({ mutant, order: hash32(`${seed} ${nameOf(sourceOf(mutant.path), mutant)}`) }))
    .sort((a, b) => a.order - b.order)
  const drawn: Mutant[] = []
  for (const { mutant } of inOrder) {
    if (drawn.length === count) break
    if (isTyped(mutant.path, applied(sourceOf(mutant.path), mutant))) drawn.push(mutant)
  }
  return drawn
}

function sourcesBelow(room: string): string[] {
  return readdirSync(absolutePath(room), { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.ts'))
    .map(name => `${room}/${name}`)
    .sort()
}
