import { queryOptions, useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import type { FieldProblem } from '../../shared/core/values/values.ts'
import { baton } from '../api/baton.ts'
import { type JsonSchema, SPAN } from '../publish/schema.ts'
import { spanText } from '../publish/span.ts'

/**
 * Settings as a person reads them. The fields, their bounds, hints and defaults are those of the OpenAPI document; this file has the few
 * labels that do not follow from the names. It also says how two states of settings differ.
 */

const LABELS: Readonly<Record<string, string>> = {
  limit: 'Starts',
  perMs: 'In any span of',
  max: 'Runs at a time',
  key: 'For each',
  defaults: 'Options of its tasks',
  inputSchema: 'Schema of the input',
  everyMs: 'A tick every',
  cron: 'Cron expression',
  at: 'At',
  timezone: 'Time zone',
  missed: 'Missed ticks',
  graceMs: 'How late a tick may be',
  catchUp: 'Ticks to catch up on',
}

/** The schemas of the bodies of the API, which are the same for as long as the page is open. */
const schemasQuery = queryOptions({
  queryKey: ['schemas'],
  queryFn: async () => (await baton.openapi()).components as { readonly schemas: Record<string, JsonSchema> },
  staleTime: Number.POSITIVE_INFINITY,
})

/** The schema of a body in words. Undefined while it is read, and null where the system does not describe itself. */
export function useSettingsSchema(name: string): JsonSchema | null | undefined {
  const { data: components, isError } = useQuery(schemasQuery)
  return useMemo(() => {
    const schema = components?.schemas[name]
    if (!schema) return isError || components ? null : undefined
    return { ...inWords(schema), components }
  }, [components, isError, name])
}

/** `maxRetries` as `Max retries`. */
function labelOf(name: string): string {
  const words = name.replace(/Ms$/, '').replaceAll(/[A-Z]/g, letter => ` ${letter.toLowerCase()}`)
  return LABELS[name] ?? words.charAt(0).toUpperCase() + words.slice(1)
}

/** The schema of settings with labels and hints for people. Whole numbers whose names end in `Ms` become spans of time. */
export function inWords(schema: JsonSchema, name = ''): JsonSchema {
  const { description, properties, items, anyOf } = schema
  const isSpan = name.endsWith('Ms')
  const below = (member: unknown, of: string) => inWords(member as JsonSchema, of)
  return {
    ...schema,
    ...(name !== '' && { title: labelOf(name) }),
    ...(typeof description === 'string' && { description: hintOf(description, isSpan) }),
    ...(isSpan && schema.type === 'integer' && { format: SPAN }),
    ...(properties !== undefined && {
      properties: Object.fromEntries(
        Object.entries(properties as object).map(([own, member]) => [own, below(member, own)]),
      ),
    }),
    ...(items !== undefined && { items: below(items, name) }),
    ...(Array.isArray(anyOf) && { anyOf: anyOf.map(one => below(one, '')) }),
  }
}

function hintOf(description: string, isSpan: boolean): string {
  const plain = description
    .replaceAll(/`(\w+Ms)`/g, (_, name: string) => `“${labelOf(name)}”`)
    .replaceAll('`', '')
  if (!isSpan) return plain
  return plain
    .replace(/,? in milliseconds/, '')
    .replace(
      /Default: ([\d,]+)(, which is [^.]*)?\./,
      (_, ms: string) => `Default: ${spanText(Number(ms.replaceAll(',', '')))}.`,
    )
}

/** The schema with these members only. A member that the schema lacks is left out. */
export function only(schema: JsonSchema, names: readonly string[]): JsonSchema {
  const members = Object.entries((schema.properties ?? {}) as object)
  return { ...schema, properties: Object.fromEntries(members.filter(([name]) => names.includes(name))) }
}

/** How settings differ from earlier ones: `limits.rate.limit: 5 → 50`. */
export function differencesOf(before: unknown, after: unknown, path = ''): string[] {
  if (isObject(before) && isObject(after)) {
    const names = new Set([...Object.keys(before), ...Object.keys(after)])
    return [...names].flatMap(name =>
      differencesOf(before[name], after[name], path === '' ? name : `${path}.${name}`),
    )
  }
  const [was, is] = [before, after].map(value => (value === undefined ? 'left out' : JSON.stringify(value)))
  return was === is ? [] : [`${path}: ${was} → ${is}`]
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The problems as sentences, for settings that are written as JSON. */
export function problemTexts(problems: readonly FieldProblem[]): string[] {
  return problems.map(({ path, message }) => `${path} ${message}`.trim())
}
