import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import { SCENARIO_KINDS } from '../generate/generate.ts'
import { absolutePath, sourceOf } from '../planted-source/changed-source.ts'
import { type Chosen, scenariosFrom } from '../planted-source/find-fault.ts'
import { drawMutants } from './draw-mutants.ts'
import { lineOf, type Mutant, nameOf } from './mutate.ts'
import { type Outcome, playMutant } from './play-mutant.ts'
import { orderFor, reachOf } from './reach.ts'

/**
 * The command `npm run mutants`: changes the source in small ways, and counts how many of the changes the simulation finds. The tests do
 * not help. It prints the survivors and the score, and names each survivor without an explanation in `survivors.md`.
 *
 * It plays only the scenarios that execute the changed place (`reach.ts`), the quickest first, until one of them is broken.
 */

const { values } = parseArgs({
  options: {
    count: { type: 'string', default: '200' },
    seed: { type: 'string', default: '1' },
    /** Mutants of the draw that are passed over, so that a run can continue another one. */
    skip: { type: 'string', default: '0' },
    scenarios: { type: 'string', default: '300' },
    threads: { type: 'string', default: String(availableParallelism()) },
    /** Plays only mutants whose names contain this text. */
    word: { type: 'string', default: '' },
    /** Plays only mutants that `survivors.md` explains: after a change of the simulation, some of them may be found. */
    survivors: { type: 'boolean', default: false },
  },
})

/** Scenarios of each kind, since one kind alone may reach the changed line. The kind `costs` is short, and it alone counts requests. */
const OF_EACH_KIND = 24
const OF_COSTS = 72
const SURVIVORS = 'test/simulation/mutants/survivors.md'

const scenarios: readonly Chosen[] = [
  ...SCENARIO_KINDS.flatMap(only => scenariosFrom(1, only === 'costs' ? OF_COSTS : OF_EACH_KIND, only)),
  ...scenariosFrom(1, Number(values.scenarios)),
]
const explained = readFileSync(absolutePath(SURVIVORS), 'utf8')
const skipped = Number(values.skip)
const mutants = drawMutants(Number(values.seed), skipped + Number(values.count))
  .slice(skipped)
  .filter(mutant => textOf(mutant).includes(values.word))
  .filter(mutant => !values.survivors || isExplained(mutant))
console.error(`${mutants.length} mutants are drawn`)
const reach = await reachOf(scenarios, mutants)
const kinds = scenarios.map(({ only }) => only)
console.error(`${scenarios.length} scenarios are played on unchanged source`)

const outcomes = new Map<Mutant, Outcome>()
const waiting = [...mutants.entries()]
await Promise.all(Array.from({ length: Number(values.threads) }, playOn))

const survivors = mutants.filter(mutant => outcomes.get(mutant)?.found === undefined)
console.log(`\n${mutants.length - survivors.length} of ${mutants.length} mutants were found`)
for (const mutant of survivors) console.log(`${sentenceOf(mutant)}: ${textOf(mutant)}`)

async function playOn(): Promise<void> {
  for (let next = waiting.shift(); next; next = waiting.shift()) {
    const [nth, mutant] = next
    outcomes.set(mutant, await playMutant(mutant, scenarios, orderFor(nth, kinds, reach), reach))
    console.error(`${skipped + nth + 1} ${sentenceOf(mutant)}: ${textOf(mutant)}`)
  }
}

function sentenceOf(mutant: Mutant): string {
  const { found, played = 0, changed = 0 } = outcomes.get(mutant) ?? {}
  if (found !== undefined) return `found after ${played} (${found})`
  if (played === 0) return 'no scenario reaches'
  return `survived ${played} scenarios, of which ${changed} played otherwise`
}

function isExplained(mutant: Mutant): boolean {
  return explained.includes(nameOf(sourceOf(mutant.path), mutant))
}

function textOf(mutant: Mutant): string {
  const source = sourceOf(mutant.path)
  const name = nameOf(source, mutant)
  const known = isExplained(mutant) ? '' : ' (not explained)'
  return `${mutant.path}:${lineOf(source, mutant)} ${mutant.operator}${known}: ${name}`
}
