import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import { SCENARIO_KINDS } from '../generate/generate.ts'
import { replaced } from './changed-source.ts'
import { findFault, scenariosFrom } from './find-fault.ts'
import type { SourceFault } from './source-fault.ts'
import { SOURCE_FAULTS } from './source-faults.ts'

/**
 * The command `npm run plants`: plants each fault into the source, and prints after how many ordinary seeds the simulation found it.
 * Words after the flags choose the faults whose names contain them.
 */

const NOT_FOUND = 1

const { values, positionals } = parseArgs({
  options: {
    seeds: { type: 'string', default: '500' },
    from: { type: 'string', default: '1' },
    threads: { type: 'string', default: String(availableParallelism()) },
    /** Plays only scenarios of this kind. By default they are ordinary ones, or of the kind that the fault needs. */
    only: { type: 'string' },
  },
  allowPositionals: true,
})
const seeds = Number(values.seeds)
const waiting = SOURCE_FAULTS.filter(({ name }) => positionals.every(word => name.includes(word)))
await Promise.all(Array.from({ length: Number(values.threads) }, playOn))

async function playOn(): Promise<void> {
  for (let fault = waiting.shift(); fault; fault = waiting.shift()) console.log(await rowOf(fault))
}

/** A row of the table in `docs/measured.md`. */
async function rowOf({ name, replacements, needs, harmless }: SourceFault): Promise<string> {
  const changed = replaced(replacements)
  if (harmless !== undefined) return `| ${name} | harmless: ${harmless} |`
  const only = SCENARIO_KINDS.find(kind => kind === values.only) ?? needs
  const found = await findFault({ changed, scenarios: scenariosFrom(Number(values.from), seeds, only) })
  if (found) return `| ${name} | ${found.scenarios}: ${found.verdict.invariant} |`
  process.exitCode = NOT_FOUND
  return `| ${name} | not found in ${seeds} seeds |`
}
