import { escaped, prose } from './html.ts'

/** A part of the OpenAPI document, which a test has checked. */
// biome-ignore lint/suspicious/noExplicitAny: the page shows whatever the document has
export type Part = any

export function linkTo(component: string): string {
  return `<a href="#schema-${component}">${escaped(component)}</a>`
}

export function componentSection(name: string, schema: Part): string {
  return `<section id="schema-${name}">
<h3>${escaped(name)} <a href="#schema-${name}" class="anchor">#</a></h3>
${prose(schema.description)}
${schema.properties ? fieldTable(schema) : `<p>${typeText(schema)}</p>`}
</section>`
}

/** The fields of an object, at every depth, each in a row of its own. */
export function fieldTable(schema: Part): string {
  const heads = ['Field', 'Values', 'Meaning'].map(head => `<th scope="col">${head}</th>`).join('')
  return `<table><thead><tr>${heads}</tr></thead><tbody>${fieldRows(schema, '').join('\n')}</tbody></table>`
}

function fieldRows(schema: Part, prefix: string): string[] {
  const { properties = {}, required = [] } = schema
  return Object.entries<Part>(properties).flatMap(([name, field]) => [
    `<tr><td><code>${escaped(`${prefix}${name}`)}</code>${required.includes(name) ? ' <em>required</em>' : ''}</td><td>${typeText(field)}</td><td>${prose(field.description)}</td></tr>`,
    ...fieldRows(field, `${prefix}${name}.`),
    ...alternativesIn(field).flatMap(one => fieldRows(one, `${prefix}${name}.`)),
    ...(field.items ? fieldRows(field.items, `${prefix}${name}[].`) : []),
  ])
}

function alternativesIn({ anyOf = [], oneOf = [] }: Part): Part[] {
  return [...anyOf, ...oneOf]
}

/** The values that a schema allows, in a few words. */
export function typeText(schema: Part): string {
  const { $ref, enum: words, allOf } = schema
  if ($ref) return linkTo($ref.split('/').at(-1))
  if (schema.const !== undefined) return code(schema.const)
  if (words) return words.map(code).join(', ')
  const alternatives = alternativesIn(schema)
  if (alternatives.length > 0) return alternatives.map(one => typeText(one)).join(' or ')
  return allOf ? typeText(allOf[0]) : plainText(schema)
}

function plainText(schema: Part): string {
  switch (schema.type) {
    case 'array':
      return `list of ${typeText(schema.items)}${boundsOf(schema, 'Items', 'members')}`
    case 'object':
      return isRecord(schema) ? `object of ${typeText(schema.additionalProperties)}` : 'object'
    case 'string':
      return `${TEXTS[schema.format] ?? 'text'}${boundsOf(schema, 'Length', 'characters')}${patternOf(schema)}`
    case 'integer':
      return `whole number${rangeOf(schema)}`
    case 'number':
      return `number${rangeOf(schema)}`
    case 'boolean':
      return 'true or false'
    case 'null':
      return code(null)
    default:
      return 'any JSON'
  }
}

function isRecord({ additionalProperties }: Part): boolean {
  return typeof additionalProperties === 'object'
}

const TEXTS: Readonly<Record<string, string>> = { 'date-time': 'time (ISO 8601)', uri: 'URL' }

function code(value: unknown): string {
  return `<code>${escaped(String(value))}</code>`
}

function rangeOf({ minimum, maximum }: Part): string {
  if (maximum === Number.MAX_SAFE_INTEGER)
    return minimum === undefined || minimum < 0 ? '' : `, from ${shown(minimum)}`
  return minimum === undefined || maximum === undefined ? '' : `, ${shown(minimum)} to ${shown(maximum)}`
}

function shown(number: number): string {
  return number.toLocaleString('en-US')
}

function boundsOf(schema: Part, keyword: string, unit: string): string {
  const [least, most] = [schema[`min${keyword}`], schema[`max${keyword}`]]
  if (most === undefined) return least ? `, at least ${least} ${least === 1 ? unit.slice(0, -1) : unit}` : ''
  return least ? `, ${least} to ${shown(most)} ${unit}` : `, at most ${shown(most)} ${unit}`
}

function patternOf({ pattern, format }: Part): string {
  return pattern === undefined || format ? '' : `, as ${code(pattern)}`
}
