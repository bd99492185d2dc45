import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../packages.ts'
import {
  componentSection,
  escaped,
  exchangesOf,
  fieldTable,
  linkTo,
  type Part,
  prose,
  resolved,
  table,
  typeText,
} from './html.ts'

/**
 * Writes the reference of the HTTP API: one page without scripts, made from the OpenAPI document. The local system serves it at `/docs`.
 * It works offline and under the policy of the dashboard, which allows neither code nor styles in the page.
 */

export const REFERENCE_SOURCES = ['functions/http/openapi.json', 'scripts/build/reference/*.*'] as const

const DOCUMENT = join(ROOT, 'functions/http/openapi.json')
const STYLES = join(ROOT, 'scripts/build/reference/reference.css')

/** Writes `docs.html` and its style sheet into the folder of the dashboard. */
export function buildReference(folder: string): void {
  const styles = readFileSync(STYLES, 'utf8')
  const hash = createHash('sha256').update(styles).digest('base64url').slice(0, 8)
  const path = `assets/reference-${hash.replaceAll(/[-_]/g, '0')}.css`
  mkdirSync(join(folder, 'assets'), { recursive: true })
  writeFileSync(join(folder, path), styles)
  writeFileSync(
    join(folder, 'docs.html'),
    referenceOf(JSON.parse(readFileSync(DOCUMENT, 'utf8')), `/${path}`),
  )
}

type Operation = { readonly method: string; readonly path: string; readonly operation: Part }

function referenceOf(document: Part, stylesPath: string): string {
  const operations: Operation[] = Object.entries<Part>(document.paths).flatMap(([path, methods]) =>
    Object.entries<Part>(methods).map(([method, operation]) => ({ path, method, operation })),
  )
  const groups = document.tags.map((tag: Part) => ({
    ...tag,
    operations: operations.filter(({ operation }) => operation.tags.includes(tag.name)),
  }))
  const components = Object.entries<Part>(document.components.schemas).sort(([one], [other]) =>
    one.localeCompare(other),
  )
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Baton: reference of the HTTP API</title>
<link rel="icon" href="/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="${stylesPath}">
</head>
<body>
<nav aria-label="Contents">
<p><a href="/">Dashboard</a> · <a href="/v1/openapi.json">OpenAPI 3.1</a></p>
${groups.map(menuOf).join('\n')}
<h2><a href="#schemas">Schemas</a></h2>
<ul>${components.map(([name]) => `<li>${linkTo(name)}</li>`).join('')}</ul>
</nav>
<main>
<h1>${escaped(document.info.title)}: reference of the HTTP API</h1>
${prose(document.info.description)}
<h2 id="security">Who may call</h2>
<dl>${Object.entries<Part>(document.components.securitySchemes).map(securityOf).join('')}</dl>
${groups.map((group: Part) => sectionOf(group, document)).join('\n')}
<h2 id="schemas">Schemas</h2>
${components.map(([name, schema]) => componentSection(name, schema)).join('\n')}
</main>
</body>
</html>
`
}

function menuOf({ name, operations }: Part): string {
  const items = operations.map(
    ({ operation }: Operation) =>
      `<li><a href="#${operation.operationId}">${escaped(operation.summary)}</a></li>`,
  )
  return `<h2><a href="#${name}">${escaped(name)}</a></h2>\n<ul>${items.join('')}</ul>`
}

function securityOf([name, { description }]: [string, Part]): string {
  return `<dt>${escaped(name)}</dt><dd>${prose(description)}</dd>`
}

function sectionOf({ name, description, operations }: Part, document: Part): string {
  const parts = operations.map((one: Operation) => operationSection(one, document))
  return `<h2 id="${name}">${escaped(name)}</h2>\n${prose(description)}\n${parts.join('\n')}`
}

function operationSection({ method, path, operation }: Operation, document: Part): string {
  const { operationId, summary, description, parameters, requestBody, responses } = operation
  const answers = Object.entries<Part>(responses).map(one => answerRow(one, document))
  return `<section id="${operationId}">
<h3>${escaped(summary)} <a href="#${operationId}" class="anchor">#</a></h3>
<p class="route"><strong>${method.toUpperCase()}</strong> <code>${escaped(path)}</code> <span>${operationId}</span></p>
${prose(description)}
${parameters.length > 0 ? `<h4>Parameters</h4>\n${parameterTable(parameters)}` : ''}
${requestBody ? bodyOf(requestBody) : ''}
<h4>Answers</h4>
${table(['Status', 'Meaning', 'Body'], answers)}
${exchangesOf(method, path, operation, document)}
</section>`
}

function parameterTable(parameters: readonly Part[]): string {
  const rows = parameters.map(
    ({ name, in: where, required, description, schema }) =>
      `<tr><td><code>${escaped(name)}</code>${required ? ' <em>required</em>' : ''}</td><td>${where}</td><td>${typeText(schema)}</td><td>${prose(description)}</td></tr>`,
  )
  return table(['Name', 'In', 'Values', 'Meaning'], rows)
}

function bodyOf({ required, content }: Part): string {
  const { schema } = content['application/json']
  const shown = schema.$ref ? `<p>${typeText(schema)}</p>` : fieldTable(schema)
  return `<h4>Body${required ? '' : ' (may be left out)'}</h4>\n${shown}`
}

function answerRow([status, answer]: [string, Part], document: Part): string {
  const { description, content = {}, headers = {} } = resolved(answer, document)
  const bodies = Object.entries<Part>(content).map(
    ([type, { schema }]) => `${typeText(schema)} <small>${escaped(type)}</small>`,
  )
  const sent = Object.keys(headers).map(name => `<small>header <code>${escaped(name)}</code></small>`)
  return `<tr><td>${status}</td><td>${prose(description)}</td><td>${[...bodies, ...sent].join('<br>') || 'none'}</td></tr>`
}
