import { generate, type ScenarioKind } from '../generate/generate.ts'
import type { PlantedFault } from '../planted/planted-fault.ts'
import type { Scenario } from '../scenario.ts'
import type { Verdict } from '../simulate/judge.ts'
import type { BrokenSeed } from '../simulate/play-seeds.ts'
import { SEED_ENDS } from '../simulate/player.ts'
import { simulate } from '../simulate/simulate.ts'
import { START } from '../world/world.ts'
import { sentencesOf } from './sentences.ts'
import { shrink } from './shrink.ts'

/**
 * The report of a broken seed, and the entry of this room. A report states the broken promise, the smallest
 * scenario that breaks it, and its history.
 *
 * `shrink.ts` finds the smallest scenario. `sentences.ts` writes a scenario as text, and `trace-lines.ts`
 * writes an event of the history as a line.
 */
export async function reportOf(
  { seed, verdict }: BrokenSeed,
  {
    planted,
    only,
  }: { readonly planted?: PlantedFault | undefined; readonly only?: ScenarioKind | undefined } = {},
): Promise<string> {
  if (verdict.invariant === SEED_ENDS) return `Seed ${seed} is broken: ${sentenceOf(verdict)}`
  const scenario = await shrink(generate(seed, only), verdict, smaller => simulate(smaller, { planted }))
  const { broken, lines } = await traced(scenario, planted)
  return [
    `Seed ${seed} is broken: ${sentenceOf(verdict)}`,
    '',
    'The smallest scenario that breaks the same promise:',
    sentencesOf(scenario),
    '',
    'Its history:',
    ...lines,
    broken
      ? `It breaks the promise: ${sentenceOf(broken)}`
      : 'Played alone, this scenario breaks no promise.',
    '',
    `To repeat this: npm run simulate -- --seed ${seed}${only ? ` --only ${only}` : ''} --trace`,
  ].join('\n')
}

async function traced(
  scenario: Scenario,
  planted: PlantedFault | undefined,
): Promise<{ readonly broken: Verdict | undefined; readonly lines: readonly string[] }> {
  const lines: string[] = []
  const { broken } = await simulate(scenario, { trace: line => lines.push(line), planted })
  return { broken, lines }
}

function sentenceOf({ invariant, message, at }: Verdict): string {
  const when = at > START ? `, at ${((at - START) / 1_000).toFixed(3)} s` : ''
  return `${invariant} — ${message}${when}`
}
