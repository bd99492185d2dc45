import fc from 'fast-check'
import { type OperationName, pathOf } from '../../../shared/api/endpoints.ts'
import type { Answer, Contract, Operation, Part } from './contract.ts'
import { TYPES, valuesFor } from './values.ts'

/**
 * A conversation with the API: requests drawn from the document, whose ids, fences and cursors come from former answers. A step is
 * data, so that fast-check can shrink a conversation to the shortest one that shows a fault.
 */
export type Step = {
  readonly operation: Operation
  readonly query: Readonly<Record<string, unknown>>
  readonly body: unknown
  /** Numbers that choose among the known ids. */
  readonly picks: readonly number[]
  /** In place of the id in the path, for some steps. */
  readonly strangeId: string | undefined
}

export type Request = { readonly method: string; readonly target: string; readonly body?: string }

export type Send = (request: Request) => Promise<Answer>

/** What former answers have named. */
type Known = {
  readonly tasks: string[]
  readonly runs: Array<{ readonly taskId: string; readonly runId: string; readonly fence: number }>
  readonly canvases: string[]
  readonly schedules: string[]
  /** The last cursor of each list. */
  readonly cursors: Map<string, string>
}

/** How often an operation is drawn. What makes things is drawn more often than what looks at them. */
const WEIGHTS: Readonly<Record<string, number>> = {
  publish: 8,
  claim: 6,
  putType: 3,
  putSchedule: 3,
  publishCanvas: 3,
  purge: 1,
}

/** Server-sent events do not end, and the document itself is not a part of a conversation. */
const NOT_ASKED = ['events', 'openapi']

export function stepsOf(contract: Contract): fc.Arbitrary<Step> {
  const asked = contract.operations.filter(({ name }) => !NOT_ASKED.includes(name))
  return fc.oneof(...asked.map(one => ({ weight: WEIGHTS[one.name] ?? 2, arbitrary: stepOf(contract, one) })))
}

function stepOf(contract: Contract, operation: Operation): fc.Arbitrary<Step> {
  const ofQuery = operation.parameters.filter((one: Part) => one.in === 'query')
  const values = ofQuery.map(({ schema }) =>
    fc.oneof(
      { weight: 2, arbitrary: fc.constant(undefined) },
      { weight: 1, arbitrary: valuesFor(contract, schema) },
    ),
  )
  const strangeId = fc.oneof(
    { weight: 12, arbitrary: fc.constant(undefined) },
    {
      weight: 1,
      arbitrary: fc.constantFrom('x', 'jobs:none', '~', '~!', 'a%2Fb', '%E0%A4', 'jobs:%20a'),
    },
  )
  return fc
    .record({
      query: fc.tuple(...values),
      body: operation.body ? valuesFor(contract, operation.body) : fc.constant(undefined),
      picks: fc.array(fc.nat(1_000), { minLength: 6, maxLength: 6 }),
      strangeId,
    })
    .map(({ query, ...rest }) => ({
      ...rest,
      operation,
      query: Object.fromEntries(ofQuery.map(({ name }: Part, index: number) => [name, query[index]])),
    }))
}

/** Sends the steps one after the other. Returns the first fault with its request, or undefined. */
export async function converse(
  contract: Contract,
  send: Send,
  steps: readonly Step[],
): Promise<string | undefined> {
  const known = nothingKnown()
  for (const request of OPENING) await send(request)
  for (const step of steps) {
    const request = requestOf(step, known)
    const answer = await send(request)
    const faults = contract.faultsOf(step.operation, answer)
    if (faults.length > 0)
      return `${step.operation.name}: ${faults.join('; ')}\n${JSON.stringify(request).slice(0, 2_000)}`
    learn(step.operation, answer, known)
  }
  return undefined
}

function nothingKnown(): Known {
  return { tasks: [], runs: [], canvases: [], schedules: [], cursors: new Map() }
}

/** Registers the types of which requests speak. */
const OPENING: readonly Request[] = [
  put('/v1/types/jobs', { kind: 'http' }),
  put('/v1/types/resize', { kind: 'http', limits: { concurrency: { max: 3, key: 'userId' } } }),
  put('/v1/types/order', {
    kind: 'flow',
    steps: [{ name: 'a', do: { type: 'jobs' }, undo: { type: 'resize' } }],
  }),
  put('/v1/types/call', { kind: 'webhook' }),
]

function put(target: string, body: object): Request {
  return { method: 'PUT', target, body: JSON.stringify(body) }
}

function requestOf({ operation, query, body, picks, strangeId }: Step, known: Known): Request {
  const target = `${pathIn(operation, picks, strangeId, known)}${queryText(operation, query, picks, known)}`
  const linked = linkedBody(operation, body, picks, known)
  return { method: operation.method, target, ...(linked !== undefined && { body: JSON.stringify(linked) }) }
}

function pathIn(
  { path }: Operation,
  [pick = 0]: readonly number[],
  strangeId: string | undefined,
  known: Known,
): string {
  const resource = /^\/v1\/(\w+)\/\{/.exec(path)?.[1]
  if (resource === undefined) return path
  if (strangeId !== undefined) return path.replaceAll(/\{\w+\}/g, strangeId)
  const run = chosen(known.runs, pick)
  if (path.includes('{runId}') && run)
    return pathOf(path.split('/').at(-1) as OperationName, run.taskId, run.runId)
  const rest = path.replace(/^\/v1\/\w+\/\{\w+\}/, '').replace('{runId}', 'none')
  return `${PATHS[resource]?.(known, pick)}${rest}`
}

/** The path of a known thing, or of one that does not exist. */
const PATHS: Readonly<Record<string, (known: Known, pick: number) => string>> = {
  tasks: ({ tasks }, pick) => pathOf('get', chosen(tasks, pick) ?? 'jobs:none'),
  canvases: ({ canvases }, pick) => pathOf('getCanvas', chosen(canvases, pick) ?? 'canvas:none'),
  types: (_known, pick) => pathOf('getType', chosen(TYPES, pick) ?? ''),
  schedules: ({ schedules }, pick) => pathOf('getSchedule', chosen([...schedules, 'nightly'], pick) ?? ''),
}

function chosen<One>(list: readonly One[], pick: number): One | undefined {
  return list[pick % Math.max(1, list.length)]
}

function queryText(
  { name }: Operation,
  query: Step['query'],
  [, pick = 0]: readonly number[],
  known: Known,
): string {
  const cursor = pick % 4 > 0 ? known.cursors.get(name) : undefined
  const linked = query.cursor !== undefined && cursor !== undefined ? { ...query, cursor } : query
  const pairs = Object.entries(linked).flatMap(([parameter, value]) =>
    [value]
      .flat()
      .map(one => [parameter, typeof one === 'string' ? one.toWellFormed() : JSON.stringify(one)]),
  )
  const given = pairs.filter((pair): pair is [string, string] => pair[1] !== undefined)
  return given.length === 0 ? '' : `?${new URLSearchParams(given)}`
}

/** The body with the ids and fences of known runs, for most steps. */
function linkedBody(
  { path, name }: Operation,
  body: unknown,
  [first = 0, , third = 0]: readonly number[],
  known: Known,
): unknown {
  if (typeof body !== 'object' || body === null) return body
  // A claim that waits would hold up the conversation, and for ever where the clock does not move.
  if (name === 'claim')
    return { ...body, waitMs: 0, ...(third % 8 > 0 && { types: undefined, type: chosen(TYPES, first) }) }
  if (third % 8 === 0) return body
  const run = chosen(known.runs, first)
  if (path.includes('{runId}') && run) return { ...body, fence: run.fence }
  const { runs } = body as { readonly runs?: unknown }
  if (name.endsWith('Many') && Array.isArray(runs))
    return { ...body, runs: runs.map((one, index) => ({ ...one, ...chosen(known.runs, first + index) })) }
  return body
}

function learn({ name, path }: Operation, { status, text }: Answer, known: Known): void {
  if (status >= 300 || text === '') return
  const body: Part = JSON.parse(text)
  LESSONS[name]?.(body, known)
  if (body.nextCursor !== undefined && !path.includes('{')) known.cursors.set(name, body.nextCursor)
}

/** What an answer names. */
const LESSONS: Readonly<Record<string, (body: Part, known: Known) => void>> = {
  publish: ({ id }, { tasks }) => void tasks.push(id),
  publishMany: ({ results }, { tasks }) => void tasks.push(...results.flatMap(({ id }: Part) => id ?? [])),
  publishCanvas: ({ id, taskIds = [] }, { canvases, tasks }) => {
    canvases.push(id)
    tasks.push(...taskIds)
  },
  putSchedule: ({ name }, { schedules }) => void schedules.push(name),
  triggerSchedule: ({ taskId }, { tasks }) => void tasks.push(taskId),
  claim: ({ claims }, { runs }) =>
    void runs.push(
      ...claims.map(({ task, run }: Part) => ({ taskId: task.id, runId: run.id, fence: run.fence })),
    ),
}
