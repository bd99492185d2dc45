import { escaped } from './html.ts'
import type { Part } from './schema-html.ts'

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
  const asked = Object.assign({}, body, ...parameters.map(({ examples = {} }: Part) => examples))
  // What is left is answered without a body.
  const [status] = all.find(([, answer]) => !answer.content) ?? []
  const left = status === undefined ? [] : exchangesWith(asked, status, operationId).map(withoutBody)
  const names = new Set(withBody.map(({ name }) => name))
  return inOrder([...left.filter(one => !names.has(one.name)), ...withBody], Object.keys(asked))
}

function withoutBody(exchange: Exchange): Exchange {
  return { ...exchange, value: undefined }
}

/** Successes first, and otherwise the order of the conversation, which is that of the requests. */
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
