import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect } from 'vitest'
import { type LocalCloud, type LocalCloudOptions, startLocalCloud } from '../../../local/cloud.ts'
import { pathOf } from '../../../shared/api/endpoints.ts'
import { testAssembly } from '../../system/synthesise.ts'
import { sharedDynamoDb } from '../dynamo/one-dynamodb.ts'
import { standIn } from '../stand-in.ts'

/** An answer of the HTTP API. */
// biome-ignore lint/suspicious/noExplicitAny: tests read answers as their users do, without types
type Answer = { readonly status: number; readonly body: any; readonly headers: Headers }

type Call = (method: string, path: string, body?: unknown) => Promise<Answer>

/** A report of the probe handler about its run. */
type Report = {
  readonly event: 'started' | 'aborted' | 'refused' | 'done'
  readonly key: string
  readonly attempt: number
  readonly fence: number
  readonly runId: string
  readonly pid: number
  readonly at: number
}

export type LocalSystem = {
  readonly cloud: LocalCloud
  readonly call: Call
  /** Publishes one task and returns its id. Throws when the API refuses it. */
  publish(body: Readonly<Record<string, unknown>>): Promise<string>
  /** Publishes tasks, a hundred by a call, one call after the other. */
  publishAll(tasks: ReadonlyArray<Readonly<Record<string, unknown>>>): Promise<void>
  /** Reads a path until `until` holds for the body, and returns that body. Throws with the last body after `limitMs`. */
  // biome-ignore lint/suspicious/noExplicitAny: as above
  answerWhen(path: string, until: (body: any) => boolean, limitMs?: number): Promise<any>
  /** Waits for a task in the same way, by its id. */
  taskWhen: LocalSystem['answerWhen']
  /** The URL to which probes report, and their reports so far. */
  readonly reportUrl: string
  readonly reports: readonly Report[]
  /** Resolves to the first report that fits. */
  reportWhen(fits: (report: Report) => boolean, limitMs?: number): Promise<Report>
  stop(): Promise<void>
}

const POLL_MS = 40
/** Reading a task costs 5 ms of processor time in five processes, so a wait reads it less and less often. */
const TASK_POLL_MS_MAX = 200
/** A wait fails after this time. It is long: SQS delivers a message that a busy machine failed to serve again only after 30 s. */
export const PATIENCE_MS = 120_000

type Deployed = Pick<
  Partial<LocalCloudOptions>,
  'assemblyDir' | 'dataDir' | 'services' | 'environment' | 'auth' | 'dashboardDir'
>

/**
 * The system under test for the tests of a file or a group: it boots before them, and stops after them. `deployed` may be a function,
 * which is called then.
 */
export function aLocalSystem(
  deployed: Deployed | (() => Deployed | Promise<Deployed>) = {},
  bootMsMax?: number,
): LocalSystem {
  let started: LocalSystem | undefined
  beforeAll(async () => {
    started = await startLocalSystem(typeof deployed === 'function' ? await deployed() : deployed)
  }, bootMsMax)
  afterAll(() => started?.stop())
  return standIn('the local system', () => started)
}

/**
 * Boots the system under test on the local cloud, with a receiver for the probes' reports. The system's worker service polls and
 * writes all the time, so it runs only in tests about it.
 */
export async function startLocalSystem(deployed: Deployed = {}): Promise<LocalSystem> {
  const reports: Report[] = []
  const receiver = await startReportReceiver(reports)
  const port = sharedDynamoDb()
  const cloud = await startLocalCloud({
    assemblyDir: deployed.assemblyDir ?? (await testAssembly()),
    stackName: 'Baton',
    apiPort: 0,
    services: false,
    ...(port !== undefined && { dynamoDbPort: port }),
    ...deployed,
    log: ({ source, line }) => {
      if (process.env.VERBOSE || line.includes('"level":"ERROR"')) console.error(`${source}: ${line}`)
    },
  })
  const call = caller(cloud.apiUrl)
  const answerWhen: LocalSystem['answerWhen'] = (path, until, limitMs = PATIENCE_MS) => {
    const ask = async () => {
      const { body } = await call('GET', path)
      return { done: until(body), value: body }
    }
    return eventually(ask, limitMs, TASK_POLL_MS_MAX)
  }
  return {
    cloud,
    call,
    publish: async body => {
      const answer = await call('POST', '/v1/tasks', body)
      if (answer.status > 201)
        throw new Error(`publish answered ${answer.status}: ${JSON.stringify(answer.body)}`)
      return answer.body.id
    },
    publishAll: async tasks => {
      for (let start = 0; start < tasks.length; start += 100) {
        const { status } = await call('POST', '/v1/tasks/batch', { tasks: tasks.slice(start, start + 100) })
        expect(status).toBe(200)
      }
    },
    answerWhen,
    taskWhen: (id, until, limitMs) => answerWhen(pathOf('get', id), until, limitMs),
    reportUrl: receiver.url,
    reports,
    reportWhen: (fits, limitMs = PATIENCE_MS) =>
      eventually(async () => {
        const found = reports.find(fits)
        return { done: found !== undefined, value: found as Report }
      }, limitMs),
    stop: async () => {
      await cloud.stop()
      await receiver.stop()
      refuseDenials(cloud)
    },
  }
}

/** A denied call shows that a function or a worker lacks a grant. Calls under roles that tests use are denied on purpose. */
function refuseDenials({ denials, resources }: LocalCloud): void {
  const lacking = denials.filter(({ caller }) => resources[caller]?.type !== 'AWS::IAM::Role')
  if (lacking.length > 0) throw new Error(`calls were denied: ${JSON.stringify(lacking.slice(0, 5))}`)
}

function caller(apiUrl: string): Call {
  return async (method, path, body) => {
    const response = await fetch(apiUrl + path, {
      method,
      ...(body !== undefined && {
        headers: { 'content-type': 'application/json' },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      }),
    })
    const text = await response.text()
    return {
      status: response.status,
      body: text === '' ? undefined : JSON.parse(text),
      headers: response.headers,
    }
  }
}

/** Calls `ask` until it is done, after longer and longer pauses. After `limitMs` it throws an error with the last value. */
async function eventually<T>(
  ask: () => Promise<{ done: boolean; value: T }>,
  limitMs: number,
  pauseMsMax = POLL_MS,
): Promise<T> {
  const until = Date.now() + limitMs
  for (let pauseMs = POLL_MS; ; pauseMs = Math.min(pauseMs * 1.5, pauseMsMax)) {
    const { done, value } = await ask()
    if (done) return value
    if (Date.now() > until) throw new Error(`not within ${limitMs} ms; last seen: ${JSON.stringify(value)}`)
    await sleep(pauseMs)
  }
}

async function startReportReceiver(reports: Report[]): Promise<{ url: string; stop(): Promise<void> }> {
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    reports.push({ ...JSON.parse(Buffer.concat(chunks).toString('utf8')), at: Date.now() })
    response.end()
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    stop: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

// biome-ignore lint/suspicious/noExplicitAny: tasks are read as users read them
export const hasEnded = (task: any) => ['succeeded', 'failed', 'cancelled'].includes(task.status)
