import fc from 'fast-check'
import { isTask } from '../../../shared/core/task/head.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import type { PlanningSystem } from '../../../shared/runtime/kernel/system.ts'
import { planChanges } from '../../../shared/runtime/stream/stream.ts'
import { sweep } from '../../../shared/runtime/sweep/sweep.ts'
import { wakeTasks } from '../../../shared/runtime/wake.ts'
import { ALL_OPERATIONS } from '../../../shared/service/operations.ts'
import { createSeededChance } from '../../../shared/testing/stores/chance.ts'
import { anApi, type TestApi } from '../http/an-api.ts'
import type { ManualClock } from '../ports/clock.ts'
import { aMemorySystem } from '../worlds/memory-system.ts'
import { type OddRequest, oddPublishes, oddRequests } from './odd-requests.ts'

/** The result of a search: each fault with the request that shows it, and how many requests were accepted. */
type Found = { readonly faults: readonly string[]; readonly accepted: number }

type Search = {
  readonly seed: number
  /** Makes new stores for each system, in the place of those in memory. */
  readonly stores?: () => Promise<Partial<PlanningSystem>>
}

/** Each system gets at most this many requests, so that its lists stay short. */
const REQUESTS_A_SYSTEM = 1_000
const TASKS_A_SYSTEM = 200
const FAULTS_SHOWN_MAX = 5

/** Sends generated requests to every route. A fault is an answer of 500 or more, or a refusal that is not a problem document. */
export async function sendOddRequests({
  requests,
  seed,
  stores,
}: Search & { requests: number }): Promise<Found> {
  const faults: string[] = []
  let accepted = 0
  for (let done = 0; done < requests && faults.length < FAULTS_SHOWN_MAX; done += REQUESTS_A_SYSTEM) {
    const api = await anOddApi(await stores?.())
    const count = Math.min(REQUESTS_A_SYSTEM, requests - done)
    for (const request of generated(count, seed + done)) {
      const answer = await answeredByStore(api, request, stores !== undefined)
      if (answer.status < 300) accepted += 1
      const fault = faultOf(request, answer)
      if (fault !== undefined) faults.push(`${fault}: ${shown(request)}${logged(api)}`)
    }
  }
  return { faults, accepted }
}

function generated(count: number, seed: number): OddRequest[] {
  return fc.sample(oddRequests(ALL_OPERATIONS), { numRuns: count, seed })
}

type Answered = { readonly status: number; readonly type: string; readonly text: string }

async function answered({ app }: TestApi, { method, target, headers, body }: OddRequest): Promise<Answered> {
  const [path = '/', rawQueryString = ''] = target.split(/\?(.*)/s)
  const event = { rawPath: decodedOnce(path), rawQueryString }
  const response = await app.request('/', { method, headers, ...(body !== undefined && { body }) }, { event })
  return {
    status: response.status,
    type: response.headers.get('content-type') ?? '',
    text: await response.text(),
  }
}

const UNAVAILABLE = 503
const TRIES_MAX = 5

/**
 * Sends a request again, as clients do, when a real store did not answer. DynamoDB Local, which all files of a test run share, fails
 * single requests on a busy machine. A request that fails each time is a fault of ours.
 */
async function answeredByStore(api: TestApi, request: OddRequest, isReal: boolean): Promise<Answered> {
  let answer = await answered(api, request)
  for (let tries = 1; isReal && answer.status === UNAVAILABLE && tries < TRIES_MAX; tries++)
    answer = await answered(api, request)
  return answer
}

function decodedOnce(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}

/** Returns why an answer is a fault, or undefined. A 501 for events is right: no function serves them. */
export function faultOf(
  { method, target }: Pick<OddRequest, 'method' | 'target'>,
  answer: Answered,
): string | undefined {
  const { status, type, text } = answer
  const isEvents = target.startsWith('/v1/events') && status === 501
  if (status >= 500 && !isEvents) return `answered ${status} ${text.slice(0, 300)}`
  if (status < 400 || method === 'HEAD') return undefined
  const problem = parsed(text) as
    | { status?: number; type?: string; title?: string; detail?: string }
    | undefined
  const isProblem = type.startsWith('application/problem+json') && problem?.status === status
  const isWhole = [problem?.type, problem?.title, problem?.detail].every(part => typeof part === 'string')
  return isProblem && isWhole ? undefined : `answered ${status} ${type} ${text.slice(0, 300)}`
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function shown({ method, target, headers, body }: OddRequest): string {
  return `${method} ${target} ${JSON.stringify(headers)} ${body?.slice(0, 2_000)}`
}

/** The last line that the API logged: it has the cause of an answer of 500 or more. */
function logged({ complaints }: TestApi): string {
  const last = complaints.at(-1)
  return last ? `; logged ${last.message} ${JSON.stringify(last.fields)}` : ''
}

/** An API, and the changes of its system that the table's stream would show. */
type WatchedApi = TestApi & { readonly changed: Task[] }

async function anOddApi(stores: Partial<PlanningSystem> = {}): Promise<WatchedApi> {
  const base = { ...aMemorySystem(), ...stores }
  const changed: Task[] = []
  const clock = base.clock as ManualClock
  const api = await anApi({
    ...base,
    chance: createSeededChance(7),
    // A sleep moves the clock forward at once.
    clock: {
      ...clock,
      sleep: async (ms: number) => void (await clock.advance(Math.min(ms, 60_000))),
    } as ManualClock,
    tasks: {
      ...base.tasks,
      apply: async change => {
        const applied = await base.tasks.apply(change)
        if (applied.applied && isTask(applied.head)) changed.push(applied.head)
        return applied
      },
    },
  })
  const limits = {
    rate: { limit: 1_000, perMs: 1_000, key: 'tenant' },
    concurrency: { max: 50, key: 'tenant' },
  }
  await api.call('PUT', '/v1/types/jobs', { kind: 'http', limits })
  return { ...api, changed }
}

/** The system is checked each time it has accepted this many requests. */
const REQUESTS_A_CHECK = 20
/** The clock moves on by this time before a check serves looks and sweeps. */
const CLOCK_STEP_MS = 120_000

/**
 * Sends generated requests until `accepted` of them have been accepted. After every few of them, all that works on many tasks must
 * still work: lists, claims, plans, looks and sweeps.
 */
export async function surviveOddTasks({
  accepted,
  seed,
  stores,
}: Search & { accepted: number }): Promise<Found> {
  const faults: string[] = []
  let total = 0
  for (let nth = 0; total < accepted && faults.length < FAULTS_SHOWN_MAX; nth++) {
    const api = await anOddApi(await stores?.())
    const others = generated(REQUESTS_A_SYSTEM, seed + nth).filter(({ method }) => method !== 'GET')
    const tasks = fc.sample(oddPublishes, { numRuns: TASKS_A_SYSTEM, seed: seed + nth })
    const every = Math.ceil(others.length / tasks.length)
    const writing = tasks.flatMap((task, at) => [task, ...others.slice(at * every, (at + 1) * every)])
    while (writing.length > 0 && total < accepted) {
      const count = Math.min(REQUESTS_A_CHECK, accepted - total)
      const sent = await acceptedAmong(api, writing, { count, isReal: stores !== undefined })
      total += sent.length
      const found = await brokenWork(api)
      faults.push(...found.map(what => `${what} after ${sent.map(shown).join('\n')}`))
    }
  }
  return { faults: faults.slice(0, FAULTS_SHOWN_MAX), accepted: total }
}

/** Takes and sends requests from the list until `count` of them have been accepted. Returns the accepted ones. */
async function acceptedAmong(
  api: TestApi,
  requests: OddRequest[],
  { count, isReal }: { count: number; isReal: boolean },
): Promise<OddRequest[]> {
  const accepted: OddRequest[] = []
  while (accepted.length < count) {
    const request = requests.shift()
    if (!request) break
    if ((await answeredByStore(api, request, isReal)).status < 300) accepted.push(request)
  }
  return accepted
}

async function brokenWork(api: WatchedApi): Promise<string[]> {
  const { system, changed, complaints } = api
  const before = complaints.length
  const calls = [
    ['GET', '/v1/tasks?type=jobs&limit=100'],
    ['GET', '/v1/tasks?type=resize&limit=100'],
    ['GET', '/v1/tasks?userId=u1&limit=100'],
    ['GET', '/v1/types/jobs/counts'],
    ['GET', '/v1/types'],
    ['GET', '/v1/schedules'],
    ['GET', '/v1/workers'],
    ['POST', '/v1/claims', { type: 'jobs', workerId: 'checker', limit: 50 }],
  ] as const
  const broken: string[] = []
  for (const [method, path, body] of calls) {
    const answer = await api.call(method, path, body)
    // A generated request may have made the type another kind, or paused it.
    if (answer.status !== 200 && answer.status !== 409)
      broken.push(`${method} ${path} is ${answer.status} ${JSON.stringify(answer.body)}`)
  }
  const tasks = changed.splice(0)
  const positions = tasks.map((task, nth) => ({ task, position: String(nth) }))
  const again = await planChanges(system, positions).catch(error => [`planning threw ${error}`])
  if (again.length > 0) broken.push(`the stream must deliver changes again: ${again}`)
  await system.clock.advance(CLOCK_STEP_MS)
  const looks = tasks.map(({ id, born, revision }) => ({ id, born, revision, hops: 0, delaySeconds: 0 }))
  const failures = await wakeTasks(system, looks).catch(error => [{ reason: `looks threw ${error}` }])
  broken.push(...failures.map(({ reason }) => `a look failed: ${reason}`))
  const report = await sweep(system).catch(error => ({ failed: `the sweeper threw ${error}` }))
  if (report.failed !== 0) broken.push(`the sweeper failed: ${report.failed}`)
  const faults = complaints
    .slice(before)
    .filter(({ fields }) => /Error|fault/.test(String(fields.error ?? '')))
  return [...broken, ...faults.map(({ message, fields }) => `logged ${message}: ${fields.error}`)]
}
