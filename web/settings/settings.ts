import { capitalised } from '../parts/format.ts'
import type { JsonSchema } from '../publish/schema.ts'

/**
 * Settings as a person reads them. The OpenAPI document has the fields, their bounds, hints and defaults; this file has the few labels
 * that do not follow from the names. It also says how two states of settings differ.
 */

const LABELS: Readonly<Record<string, string>> = {
  ...{ limit: 'Starts', perMs: 'Period', max: 'Runs at a time', key: 'For each' },
  ...{ defaults: 'Options', inputSchema: 'Schema of the input' },
  ...{ everyMs: 'A tick every', cron: 'Cron expression', timezone: 'Time zone', missed: 'Missed ticks' },
  ...{ graceMs: 'How late a tick may be', catchUp: 'Ticks to catch up on' },
}

/** `maxRetries` as `Max retries`. */
function labelOf(name: string): string {
  const words = name.replace(/Ms$/, '').replaceAll(/[A-Z]/g, letter => ` ${letter.toLowerCase()}`)
  return LABELS[name] ?? capitalised(words)
}

/** The schema of settings with labels and hints for people. Whole numbers whose names end in `Ms` are shown in seconds. */
export function inWords(schema: JsonSchema, name = ''): JsonSchema {
  const { description, properties, items, anyOf } = schema
  const isSpan = name.endsWith('Ms')
  const member = (one: unknown, own: string) => inWords(one as JsonSchema, own)
  const members = Object.entries(Object(properties)).map(([own, one]) => [own, member(one, own)] as const)
  return {
    ...schema,
    ...(name !== '' && { title: isSpan ? `${labelOf(name)}, in seconds` : labelOf(name) }),
    ...(typeof description === 'string' && { description: hintOf(description, isSpan) }),
    ...(isSpan && { format: 'milliseconds' }),
    ...(properties !== undefined && { properties: Object.fromEntries(members) }),
    ...(items !== undefined && { items: member(items, name) }),
    ...(Array.isArray(anyOf) && { anyOf: anyOf.map(one => member(one, '')) }),
  }
}

function hintOf(description: string, isSpan: boolean): string {
  const plain = description
    .replaceAll(/`?\b(\w+Ms)\b`?/g, (_, name: string) => `“${labelOf(name)}”`)
    .replaceAll(/`| ?Give exactly one of [^.]*\.| ?Default: none\./g, '')
  const inSeconds = (_: string, ms: string) => `Default: ${Number(ms.replaceAll(',', '')) / 1_000}`
  return isSpan ? plain.replace(/,? in milliseconds/, '').replace(/Default: ([\d,]+)/, inSeconds) : plain
}

/** The schema with these members only. A member that the schema lacks is left out. */
export function only(schema: JsonSchema, names: readonly string[]): JsonSchema {
  return { ...schema, properties: pick(Object(schema.properties), names) }
}

/** The members of these names, as far as the object has them. */
export function pick(from: object, names: readonly string[]): JsonSchema {
  return Object.fromEntries(Object.entries(from).filter(([name]) => names.includes(name)))
}

/** How settings differ from earlier ones: `limits.rate.limit: 5 → 50`. */
export function differencesOf(before: unknown, after: unknown, path: readonly string[] = []): string[] {
  if (Object(before) === before && Object(after) === after) {
    const [was, is] = [before, after] as Array<Readonly<Record<string, unknown>>>
    const names = new Set([...Object.keys(was ?? {}), ...Object.keys(is ?? {})])
    return [...names].flatMap(name => differencesOf(was?.[name], is?.[name], [...path, name]))
  }
  const [was, is] = [before, after].map(value => (value === undefined ? 'left out' : JSON.stringify(value)))
  return was === is ? [] : [`${path.join('.')}: ${was} → ${is}`]
}
