import { beforeEach, expect } from 'vitest'
import { ownVersion } from '../../../cli/terminal/io.ts'
import { createApi } from '../../../functions/http/create-api.ts'
import { pathOf } from '../../../shared/api/endpoints.ts'
import { jsonBytes } from '../../../shared/core/values/values.ts'
import type { LogFields } from '../../../shared/ports/machine.ts'
import type { DiagnosticSystem } from '../../../shared/runtime/kernel/system.ts'
import { ALL_OPERATIONS } from '../../../shared/service/operations.ts'
import { standIn } from '../stand-in.ts'
import { aMemorySystem, type MemorySystem } from '../worlds/memory-system.ts'

/** Tests read answers as their users do, without types. */
// biome-ignore lint/suspicious/noExplicitAny: as above
export type Shown = any

type Answered = {
  readonly status: number
  readonly body: Shown
  readonly headers: Headers
}

export type TestApi = {
  readonly system: MemorySystem
  /** The warnings and errors that were logged. */
  readonly complaints: ReadonlyArray<{ readonly message: string; readonly fields: LogFields }>
  readonly app: ReturnType<typeof createApi>
  /** Sends text and bytes unchanged, and any other body as JSON. */
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answered>
  /** Returns the body of the answer to `GET` of a task. */
  task(id: string): Promise<Shown>
}

/**
 * Makes the API of a system in memory, with a type `jobs` of kind `http` and a type `resize` of kind `handler`. `parts` replace
 * parts of the system. The API reports the version of this repository, unless it is given another one.
 */
export async function anApi(
  parts: Partial<DiagnosticSystem> = {},
  version: string = ownVersion(),
): Promise<TestApi> {
  const complaints: Array<{ message: string; fields: LogFields }> = []
  const complain = (message: string, fields: LogFields = {}) => void complaints.push({ message, fields })
  const log = { debug: () => {}, info: () => {}, warn: complain, error: complain }
  const system = { ...aMemorySystem(), log, ...parts } as MemorySystem
  const app = createApi(system, ALL_OPERATIONS, { version })
  const call: TestApi['call'] = async (method, path, body, headers = {}) => {
    const request = {
      method,
      headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
      ...(body !== undefined && { body: isRaw(body) ? (body as string) : JSON.stringify(body) }),
    }
    const response = await app.request('/', request, { event: asDelivered(path) })
    const text = await response.text()
    expect(jsonBytes(text), 'bytes that Lambda delivers').toBeLessThan(6_291_556 - 1_000)
    return {
      status: response.status,
      body: text === '' ? undefined : JSON.parse(text),
      headers: response.headers,
    }
  }
  await call('PUT', '/v1/types/jobs', { kind: 'http' })
  await call('PUT', '/v1/types/resize', { kind: 'handler' })
  const task = async (id: string) => (await call('GET', pathOf('get', id))).body
  return { system, complaints, app, call, task }
}

/** Makes the API anew before each test of a file. `renew` replaces it within a test. */
export function anApiPerTest(): TestApi & { renew(parts?: Partial<DiagnosticSystem>): Promise<void> } {
  let current: TestApi | undefined
  const renew = async (parts: Partial<DiagnosticSystem> = {}) => {
    current = await anApi(parts)
  }
  beforeEach(() => renew())
  return Object.assign(
    standIn('the API', () => current),
    { renew },
  )
}

/** Expects a problem document of which one error names this path and says what is legal. Returns the answer. */
export async function expectRefused(
  answering: Promise<Answered>,
  path: string,
  status = 400,
): Promise<Answered> {
  const answer = await answering
  expect(answer.status, JSON.stringify(answer.body)).toBe(status)
  expect(answer.headers.get('content-type')).toBe('application/problem+json')
  expect(answer.body).toMatchObject({ status, type: expect.stringMatching(/^urn:baton:problem:/) })
  expect(answer.body.errors.map((one: Shown) => one.path)).toContain(path)
  for (const { message } of answer.body.errors) expect(message.length).toBeGreaterThan(5)
  return answer
}

/** The path as API Gateway delivers it: decoded once, and cut at a decoded `?`. The query stays encoded. */
function asDelivered(target: string) {
  const [path = '/', rawQueryString = ''] = target.split(/\?(.*)/s)
  try {
    return { rawPath: decodeURIComponent(path).split('?')[0] ?? '', rawQueryString }
  } catch {
    return { rawPath: path, rawQueryString }
  }
}

function isRaw(body: unknown): boolean {
  return typeof body === 'string' || body instanceof Uint8Array
}

/** Publishes one task of type `jobs` and returns its id. */
export async function published({ call }: TestApi, body: object = {}): Promise<string> {
  const { status, body: answer } = await call('POST', '/v1/tasks', { type: 'jobs', ...body })
  if (status > 201) throw new Error(`not published: ${JSON.stringify(answer)}`)
  return answer.id
}

/** Claims one task of type `jobs`. Returns its id, and the id, the fence and the path of its run. */
export async function claimed({ call }: TestApi, more: object = {}) {
  const { body } = await call('POST', '/v1/claims', { type: 'jobs', workerId: 'w1', ...more })
  const [claim] = body.claims
  if (!claim) throw new Error('nothing to claim')
  return {
    id: claim.task.id as string,
    runId: claim.run.id as string,
    fence: claim.run.fence as number,
    path: `${pathOf('get', claim.task.id)}/runs/${claim.run.id}`,
  }
}

/** Reads all pages of a list. `path` has a query already. */
export async function pagesOf({ call }: Pick<TestApi, 'call'>, path: string): Promise<Shown[]> {
  const pages: Shown[] = []
  for (let cursor = ''; ; ) {
    const { status, body } = await call('GET', `${path}${cursor}`)
    expect(status, JSON.stringify(body)).toBe(200)
    pages.push(body)
    if (body.nextCursor === undefined) return pages
    cursor = `&cursor=${encodeURIComponent(body.nextCursor)}`
  }
}

export type Claim = { readonly task: Shown; readonly run: Shown }

/** Claims up to ten tasks of type `jobs`. */
export async function claims({ call }: Pick<TestApi, 'call'>, more: object = {}): Promise<Claim[]> {
  const { status, body } = await call('POST', '/v1/claims', {
    ...{ type: 'jobs', workerId: 'w1', limit: 10 },
    ...more,
  })
  expect(status, JSON.stringify(body)).toBe(200)
  return body.claims
}

/** Claims one task of type `jobs`, and reports about its run. Returns the answer to the report, and the id of the task. */
export async function reported(api: TestApi, word: 'succeed' | 'fail' | 'release', more: object = {}) {
  const { path, fence, id } = await claimed(api)
  const error = word === 'fail' && { error: { name: 'E', message: 'm' } }
  return { ...(await api.call('POST', `${path}/${word}`, { fence, ...error, ...more })), id }
}
