import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import { SCENARIO_KINDS } from '../generate/generate.ts'
import { absolutePath, sourceOf } from '../planted-source/changed-source.ts'
import { type Chosen, findFault, ordinary } from '../planted-source/find-fault.ts'
import { drawMutants } from './draw-mutants.ts'
import { applied, lineOf, type Mutant, nameOf } from './mutate.ts'

/**
 * The command `npm run mutants`: changes the source in small ways, and counts how many of the changes the simulation finds. The tests do
 * not help. It prints the survivors and the score, and names each survivor without an explanation in `survivors.md`.
 */

const { values } = parseArgs({
  options: {
    count: { type: 'string', default: '200' },
    seed: { type: 'string', default: '1' },
    scenarios: { type: 'string', default: '150' },
  },
})

/** Scenarios of each kind, since one kind alone may reach the changed line. */
const OF_EACH_KIND = 3
const SURVIVORS = 'test/simulation/mutants/survivors.md'

const scenarios: readonly Chosen[] = [
  ...SCENARIO_KINDS.flatMap(only => ordinary(1, OF_EACH_KIND).map(({ seed }) => ({ seed, only }))),
  ...ordinary(1, Number(values.scenarios)),
]
/** The numbers of the scenarios. A scenario that has just found a mutant is played first, since near mutants are alike. */
let order = [...scenarios.keys()]

const explained = readFileSync(absolutePath(SURVIVORS), 'utf8')
const mutants = drawMutants(Number(values.seed), Number(values.count))
const survivors: Mutant[] = []
const waiting = [...mutants]
await Promise.all(Array.from({ length: availableParallelism() }, playOn))

console.log(`\n${mutants.length - survivors.length} of ${mutants.length} mutants were found`)
for (const mutant of survivors) console.log(textOf(mutant))

async function playOn(): Promise<void> {
  for (let mutant = waiting.shift(); mutant; mutant = waiting.shift()) {
    const changed = { [mutant.path]: applied(sourceOf(mutant.path), mutant) }
    const found = await findFault({ changed, scenarios }, order)
    if (!found) survivors.push(mutant)
    else order = [found.nth, ...order.filter(nth => nth !== found.nth)]
    console.error(found ? `found after ${found.scenarios}` : 'survived', textOf(mutant))
  }
}

function textOf(mutant: Mutant): string {
  const source = sourceOf(mutant.path)
  const name = nameOf(source, mutant)
  const known = explained.includes(name) ? '' : ' (not explained)'
  return `${lineOf(source, mutant)} ${mutant.operator}${known}: ${name}`
}
