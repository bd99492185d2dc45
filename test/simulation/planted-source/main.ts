import { availableParallelism } from 'node:os'
import { replaced } from './changed-source.ts'
import { findFault, ordinary } from './find-fault.ts'
import { SOURCE_FAULTS, type SourceFault } from './source-faults.ts'

/**
 * The command `npm run planted`: plants each fault into the source, and prints after how many ordinary seeds the simulation found it.
 * Words after the command choose the faults whose names contain them.
 */

const SEEDS = 500
const NOT_FOUND = 1

const words = process.argv.slice(2)
const chosen = SOURCE_FAULTS.filter(({ name }) => words.every(word => name.includes(word)))
const waiting = [...chosen]
await Promise.all(Array.from({ length: availableParallelism() }, playOn))

async function playOn(): Promise<void> {
  for (let fault = waiting.shift(); fault; fault = waiting.shift()) console.log(await rowOf(fault))
}

/** A row of the table in `docs/measured.md`. */
async function rowOf({ name, replacements, harmless }: SourceFault): Promise<string> {
  const changed = replaced(replacements)
  if (harmless !== undefined) return `| ${name} | harmless: ${harmless} |`
  const found = await findFault({ changed, scenarios: ordinary(1, SEEDS) })
  if (found) return `| ${name} | ${found.scenarios}: ${found.verdict.invariant} |`
  process.exitCode = NOT_FOUND
  return `| ${name} | not found in ${SEEDS} seeds |`
}
