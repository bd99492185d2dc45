import { parseArgs } from 'node:util'
import { SCENARIO_KINDS, type ScenarioKind } from './generate/generate.ts'

/** What the arguments of `npm run simulate` ask for, or the mistake in them. */
export type Request =
  | { readonly seed: number; readonly isTraced: boolean; readonly only?: ScenarioKind }
  | { readonly from: number; readonly count: number; readonly only?: ScenarioKind }
  | { readonly mistake: string }

const USAGE = 'legal are --seeds <count> and --from <seed>, or --seed <seed> and --trace, and --only <kind>'
/** The smallest legal value of each numeric flag. */
const NUMBERS: Readonly<Record<string, number>> = { seeds: 1, from: 0, seed: 0 }
/** The largest seed: a seed has 32 bits. */
const SEED_MAX = 2 ** 32 - 1

export function parseArguments(args: readonly string[]): Request {
  const { values, positionals } = parseArgs({
    args: [...args],
    options: {
      seeds: { type: 'string', default: '1000' },
      from: { type: 'string', default: '1' },
      seed: { type: 'string' },
      only: { type: 'string' },
      trace: { type: 'boolean', default: false },
    },
    strict: false,
    allowPositionals: true,
  })
  const given = new Set(args.filter(arg => arg.startsWith('--')).map(arg => arg.split('=')[0]))
  const mistake = unknownIn(values, positionals) ?? illegalIn(values) ?? contradictionIn(given)
  if (mistake) return { mistake }
  const only = SCENARIO_KINDS.find(rarity => rarity === values.only)
  return values.seed === undefined
    ? { from: Number(values.from), count: Number(values.seeds), ...(only && { only }) }
    : { seed: Number(values.seed), isTraced: values.trace === true, ...(only && { only }) }
}

type Values = Readonly<Record<string, string | boolean | undefined>>

function unknownIn(values: Values, positionals: readonly string[]): string | undefined {
  const flag = Object.keys(values).find(
    name => name !== 'trace' && name !== 'only' && !Object.hasOwn(NUMBERS, name),
  )
  if (flag !== undefined) return `--${flag} is unknown: ${USAGE}`
  return positionals[0] === undefined ? undefined : `'${positionals[0]}' is not a flag: ${USAGE}`
}

function illegalIn(values: Values): string | undefined {
  if (typeof values.trace === 'string') return `--trace takes no value: ${USAGE}`
  if (values.only !== undefined && !SCENARIO_KINDS.some(rarity => rarity === values.only)) {
    return `--only is '${values.only}': give one of ${SCENARIO_KINDS.join(', ')}`
  }
  for (const [name, least] of Object.entries(NUMBERS)) {
    const value = values[name]
    if (value === undefined) continue
    const isLegal = typeof value === 'string' && /^\d+$/.test(value)
    if (isLegal && Number(value) >= least && Number(value) <= SEED_MAX) continue
    const got = typeof value === 'string' ? `'${value}'` : 'nothing'
    return `--${name} is ${got}: give a whole number from ${least} to ${SEED_MAX}`
  }
  return undefined
}

function contradictionIn(given: ReadonlySet<string | undefined>): string | undefined {
  if (!given.has('--seed')) return given.has('--trace') ? `--trace needs --seed: ${USAGE}` : undefined
  const ranged = ['--seeds', '--from'].find(flag => given.has(flag))
  return ranged && `${ranged} does not go with --seed: ${USAGE}`
}
