/** The parts of the reference as HTML: texts, schemas, and the examples of operations. */

/** A part of the OpenAPI document, which a test has checked. */
// biome-ignore lint/suspicious/noExplicitAny: the page shows whatever the document has
export type Part = any

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

/** Text as HTML. Everything that the page shows goes through here. */
export function escaped(text: string): string {
  return text.replaceAll(/[&<>"]/g, character => ENTITIES[character] ?? character)
}

/** Paragraphs, with code between backticks. */
export function prose(text = ''): string {
  return text
    .split('\n\n')
    .filter(paragraph => paragraph !== '')
    .map(paragraph => `<p>${withCode(escaped(paragraph))}</p>`)
    .join('')
}

function withCode(html: string): string {
  return html.replaceAll(/`([^`]+)`/g, '<code>$1</code>')
}

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
  return table(['Field', 'Values', 'Meaning'], fieldRows(schema, ''))
}

export function table(heads: readonly string[], rows: readonly string[]): string {
  const cells = heads.map(head => `<th scope="col">${head}</th>`).join('')
  return `<table><thead><tr>${cells}</tr></thead><tbody>${rows.join('\n')}</tbody></table>`
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

/**
 * The examples of an operation, as the document pairs them: parameters, body and answer of one exchange have the same name. Each is folded
 * away but the first.
 */
export function exchangesOf(method: string, path: string, operation: Part, document: Part): string {
  const exchanges = exchangesIn(operation, document)
  if (exchanges.length === 0) return ''
  const shown = exchanges.map(({ status, title, name, value }, index) => {
    const request = requestText(method, path, operation, name)
    const answer = [status, bodyText(value)].filter(text => text !== '').join('\n\n')
    return `<details${index === 0 ? ' open' : ''}><summary><strong>${status}</strong> ${escaped(title)}</summary>
${request === undefined ? '' : block(request)}
${block(answer)}</details>`
  })
  return `<h4>Examples</h4>\n${shown.join('\n')}`
}

/** A part of the document, or the part that it refers to. */
export function resolved(part: Part, document: Part): Part {
  return part.$ref ? document.components.responses[part.$ref.split('/').at(-1)] : part
}

type Exchange = {
  readonly name: string
  readonly status: string
  readonly title: string
  readonly value: unknown
}

function exchangesIn({ operationId, parameters, requestBody, responses }: Part, document: Part): Exchange[] {
  const all = Object.entries<Part>(responses).map(([status, answer]) => [status, resolved(answer, document)])
  const withBody = all.flatMap(([status, { content = {} }]) =>
    Object.values<Part>(content).flatMap(({ examples = {} }) => exchangesWith(examples, status, operationId)),
  )
  const body = requestBody?.content['application/json'].examples
  const requestExamples = Object.assign({}, body, ...parameters.map(({ examples = {} }: Part) => examples))
  // What is left is answered without a body.
  const [status] = all.find(([, answer]) => !answer.content) ?? []
  const left =
    status === undefined ? [] : exchangesWith(requestExamples, status, operationId).map(withoutBody)
  const names = new Set(withBody.map(({ name }) => name))
  return inOrder([...left.filter(one => !names.has(one.name)), ...withBody], Object.keys(requestExamples))
}

function withoutBody(exchange: Exchange): Exchange {
  return { ...exchange, value: undefined }
}

/** Sorts the successes first. Otherwise it keeps the order in which the examples make their requests. */
function inOrder(exchanges: readonly Exchange[], names: readonly string[]): Exchange[] {
  const placeOf = ({ name, status }: Exchange) =>
    (status < '3' ? 0 : names.length + 1) + (names.includes(name) ? names.indexOf(name) : names.length)
  return [...exchanges].sort((one, other) => placeOf(one) - placeOf(other))
}

/** The exchanges of this operation among the examples: operations share refusals. */
function exchangesWith(examples: Part, status: string, operationId: string): Exchange[] {
  return Object.entries<Part>(examples)
    .filter(([name]) => name.startsWith(`${operationId}-`))
    .map(([name, { summary, value }]) => ({
      ...{ name, status, value },
      title: summary.replace(`${operationId}: `, ''),
    }))
}

/** The request of an exchange. Undefined when the document does not show it. */
function requestText(
  method: string,
  path: string,
  { parameters, requestBody }: Part,
  name: string,
): string | undefined {
  const given = parameters.flatMap((one: Part) => {
    const value = one.examples?.[name]?.value
    return value === undefined ? [] : [{ ...one, value }]
  })
  const body = requestBody?.content['application/json'].examples?.[name]?.value
  if (body === undefined && given.length === 0 && (requestBody?.required || path.includes('{')))
    return undefined
  const filled = given.reduce(
    (text: string, one: Part) =>
      text.replace(`{${one.name}}`, encodeURIComponent(one.value).replaceAll('%3A', ':')),
    path,
  )
  const pairs = given
    .filter((one: Part) => one.in === 'query')
    .flatMap((one: Part) => [one.value].flat().map((value: unknown) => [one.name, String(value)]))
  const target = pairs.length > 0 ? `${filled}?${new URLSearchParams(pairs)}` : filled
  return [`${method.toUpperCase()} ${target}`, bodyText(body)].filter(text => text !== '').join('\n\n')
}

function bodyText(value: unknown): string {
  if (value === undefined) return ''
  return typeof value === 'string' ? value.trim() : JSON.stringify(value, undefined, 2)
}

function block(text: string): string {
  return `<pre tabindex="0"><code>${escaped(text)}</code></pre>`
}
