import fc from 'fast-check'
import { oddJson, oddTask, spoilt, templatesOf } from './odd-bodies.ts'

/** This file generates requests that make little sense. Baton's client never sends them, but other programs will. */

export type OddRequest = {
  readonly method: string
  /** Path and query. */
  readonly target: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

const oddSegment = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.constantFrom('jobs:k1', 'resize:k2', 'jobs', 'resize', 'k1', 'c1', 's1', 'canvas:c1'),
  },
  fc.constantFrom(
    '~',
    '~am9iczprMQ',
    '~_w',
    '%00',
    '%ud800',
    '%ED%A0%80',
    'jobs:%0A',
    '__proto__:x',
    'jobs:__proto__',
    ':',
    'a:',
    '..',
    '%2e%2e',
    'a%2Fb',
    '01AAAAAAAAAAAAAAAAAAAAAAAA.1',
    '01AAAAAAAAAAAAAAAAAAAAAAAA.0',
  ),
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 10 }).map(encodeURIComponent),
  fc.constant(`jobs:${'x'.repeat(201)}`),
)

const QUERY_NAMES = [
  'type',
  'status',
  'userId',
  'canvasId',
  'order',
  'limit',
  'cursor',
  'ifRevision',
  'since',
  'tag',
  '__proto__',
  '',
  'x',
]
const QUERY_VALUES = [
  'jobs',
  'ready',
  'failed',
  'u1',
  'canvas:c1',
  'due',
  '-created',
  '1',
  '100',
  '0',
  '-1',
  '1e2',
  '',
  '%00',
  '%FF',
  '%ED%A0%80',
  'eyJ9',
  '__proto__',
  'x'.repeat(3_000),
]

const query = fc
  .array(fc.tuple(fc.constantFrom(...QUERY_NAMES), fc.constantFrom(...QUERY_VALUES)), { maxLength: 3 })
  .map(pairs => (pairs.length === 0 ? '' : `?${pairs.map(([name, value]) => `${name}=${value}`).join('&')}`))

const headers = fc.oneof(
  { weight: 8, arbitrary: fc.constant({ 'content-type': 'application/json' }) },
  fc.constantFrom<Record<string, string>>(
    {},
    { 'content-type': 'text/plain' },
    { 'content-type': 'application/xml' },
    { 'content-type': 'application/json; charset=utf-16' },
    { 'content-type': ';' },
    { 'content-type': 'application/json', 'content-encoding': 'gzip' },
    { 'content-type': 'application/json', traceparent: '00-x' },
    { 'content-type': 'application/json', 'idempotency-key': '\u00ff' },
  ),
)

type RouteLike = { readonly method: string; readonly path: string }

/** Generates requests to these routes. Some have a path or a method that no route serves. */
export function oddRequests(routes: readonly RouteLike[]): fc.Arbitrary<OddRequest> {
  return fc.constantFrom(...routes).chain(({ method, path }) => {
    const segments = path.split('/').map(part => (part.startsWith('{') ? oddSegment : fc.constant(part)))
    const body = fc.oneof(
      { weight: 6, arbitrary: fc.constantFrom(...templatesOf(path)).chain(template => spoilt(template, 3)) },
      oddJson,
      fc.constantFrom('', '{', '[]]', '\u0000', '"', 'nul', '{"type":"jobs"', '{"a":1}{"b":2}'),
    )
    const verb = fc.oneof(
      { weight: 12, arbitrary: fc.constant(method.toUpperCase()) },
      fc.constantFrom('GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'),
    )
    const target = fc
      .tuple(fc.tuple(...segments), fc.option(query, { freq: 3, nil: '' }))
      .map(([parts, text]) => parts.join('/') + text)
    return fc.record({ method: verb, target, headers, body }).map(request => {
      const isBare = request.method === 'GET' || request.method === 'HEAD'
      const { body: text, ...rest } = request
      return isBare ? rest : { ...rest, body: text }
    })
  })
}

/** Requests that publish odd tasks. The API accepts most of them. */
export const oddPublishes: fc.Arbitrary<OddRequest> = oddTask.map(body => ({
  method: 'POST',
  target: '/v1/tasks',
  headers: { 'content-type': 'application/json' },
  body,
}))
