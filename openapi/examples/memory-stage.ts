import { createApi } from '../../functions/http/create-api.ts'
import { ProblemError } from '../../shared/client/problem-error.ts'
import { type BatonEvent, eventsOf } from '../../shared/core/events/events.ts'
import type { Json } from '../../shared/core/values/values.ts'
import { DEFAULT_PACE } from '../../shared/runtime/claim/wait-for-work.ts'
import { readTask } from '../../shared/runtime/kernel/heads.ts'
import type { DiagnosticSystem } from '../../shared/runtime/kernel/system.ts'
import { collectDeadLetters } from '../../shared/runtime/operate/dead-letters.ts'
import { countFailures, createActivityMeter } from '../../shared/runtime/stream/statistics.ts'
import type { Operation, Parts } from '../../shared/service/operation.ts'
import { iso } from '../../shared/service/present/tasks.ts'
import { sendToService } from '../../shared/service/send-to-service.ts'
import { createService } from '../../shared/service/service.ts'
import { createMemoryStores } from '../../shared/testing/stores/memory-stores.ts'
import { quiet } from '../../shared/testing/world/timeline.ts'
import { createWorld, type World } from '../../shared/testing/world/world.ts'
import type { Answered, Stage } from './play.ts'

const START = Date.UTC(2026, 10, 23, 9)
const PAUSE_MS = 250
/** A happening takes at most this long. */
const PATIENCE_MS = 60_000
const POLL_MS = 1_000
/** The caller in the examples, as API Gateway names it. */
const CALLER = 'arn:aws:sts::123456789012:assumed-role/ops/alice'

const SILENT = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

/** The version that the document shows. It does not follow the version of the package, so that a release does not change the document. */
const VERSION = '1.4.2'

/**
 * A whole system in memory and in virtual time, with the real API in front of it. Times and ids follow from the start and a seed, so the
 * same conversation always has the same answers.
 */
export function createMemoryStage(operations: readonly Operation[], reach: Reach = 'http'): Stage {
  const world = createWorld({
    definitions: [],
    start: START,
    seed: 7,
    handlerPatienceMs: 10_000,
    log: SILENT,
    onHandlerLine: () => {},
  })
  const system: DiagnosticSystem = {
    ...world.functions,
    deadLetters: createMemoryStores({ clock: world.functions.clock }).deadLetters,
    resender: { sendAgain: async () => [] },
  }
  const stream = createStream(world, system)
  const reached = reach === 'http' ? overHttp : inProcess
  const apps = {
    calm: reached(system, operations, { version: VERSION }),
    crowded: reached(system, operations, {
      claimPace: { ...DEFAULT_PACE, maxWaiting: 0 },
      version: VERSION,
    }),
  }
  const pass = async (ms: number) => {
    await world.run(world.timeline.now() + ms)
    await stream.read()
  }
  const ask: Stage['ask'] = async ({
    method,
    target,
    body,
    contentType = JSON_TYPE,
    isCrowded,
    isStream,
  }) => {
    if (isStream) return stream.shown(new URLSearchParams(target.split('?')[1]).get('taskId') ?? '')
    const app = isCrowded ? apps.crowded : apps.calm
    const requestId = system.chance.ulid(system.clock.now())
    const asking = app({ method, target, body, contentType, requestId })
    const answer = await inVirtualTime(world, asking)
    await pass(PAUSE_MS)
    return answer
  }
  const happen: Stage['happen'] = async happening => {
    if ('lost' in happening) return loseLook(system, happening.lost)
    const limit = world.timeline.now() + PATIENCE_MS
    while (!happening.until((await ask({ method: 'GET', target: happening.path })).body)) {
      if (world.timeline.now() > limit)
        throw new Error(`what is awaited of ${happening.path} does not happen`)
      await pass(POLL_MS)
    }
  }
  return { ask, happen }
}

/** How requests reach the service of the API: by the HTTP API, or by calls within the process, as in the testing kit. */
type Reach = 'http' | 'in-process'

type Request = {
  readonly method: string
  readonly target: string
  readonly body: Json | undefined
  readonly contentType: string
  readonly requestId: string
}

type Settings = Pick<Parts, 'version'> & Partial<Pick<Parts, 'claimPace'>>

function overHttp(system: DiagnosticSystem, operations: readonly Operation[], settings: Settings) {
  const app = createApi(system, operations, settings)
  return async ({ method, target, body, contentType, requestId }: Request): Promise<Answered> => {
    const [rawPath = '', rawQueryString = ''] = target.split('?')
    const requestContext = { requestId, http: { method }, authorizer: { iam: { userArn: CALLER } } }
    const event = { rawPath: decodeURIComponent(rawPath), rawQueryString, requestContext }
    const headers = { 'content-type': contentType }
    const sent = body === undefined ? {} : { headers, body: JSON.stringify(body) }
    return answered(await app.request('/', { method: 'POST', ...sent }, { event, requestContext }))
  }
}

function inProcess(system: DiagnosticSystem, operations: readonly Operation[], settings: Settings) {
  const serve = createService(system, operations, settings)
  let status = 0
  const send = sendToService(async request => {
    const answer = await serve(request)
    status = answer.status
    return answer
  }, CALLER)
  return async ({ method, target, body }: Request): Promise<Answered> => {
    const [path = '', search = ''] = target.split('?')
    const given = new URLSearchParams(search)
    const query = Object.fromEntries([...new Set(given.keys())].map(name => [name, given.getAll(name)]))
    const headers = new Headers()
    try {
      const shown = await send<Json | undefined>([method, path], { body, query })
      return { status, headers, body: shown }
    } catch (error) {
      if (!(error instanceof ProblemError)) throw error
      return { status, headers, body: error.problem as Json }
    }
  }
}

/** Reads the changes of the table as the planner's function does: it counts them, and makes events of them. */
function createStream(world: World, system: DiagnosticSystem) {
  const meter = createActivityMeter(system)
  const events: BatonEvent[] = []
  let position = 0
  return {
    read: async () => {
      const heads = [...world.takeChanged()].flatMap(id => world.heads.get(id) ?? [])
      const changes = heads.map(task => ({ task, position: String(position++) }))
      const batch = { positions: changes.map(change => change.position), failed: [] }
      events.push(...heads.flatMap(eventsOf))
      await countFailures(system, changes, batch)
      await meter.count(changes, batch)
    },
    /** The events of a task so far, as a reader gets them that has followed from the start. */
    shown: (taskId: string): Answered => ({
      status: 200,
      headers: new Headers({ 'content-type': 'text/event-stream; charset=utf-8' }),
      body: ['retry: 1000\nid: none\n\n', ...events.filter(one => one.taskId === taskId).map(frameOf)].join(
        '',
      ),
    }),
  }
}

function frameOf(event: BatonEvent): string {
  const data = JSON.stringify({ ...event, at: iso(event.at) })
  return `id: ${event.id}\nevent: ${event.type}\ndata: ${data}\n\n`
}

const JSON_TYPE = 'application/json'

async function answered(response: Response): Promise<Answered> {
  const text = await response.text()
  const { status, headers } = response
  return { status, headers, body: text === '' ? undefined : JSON.parse(text) }
}

/** Code that waits for no event has run after this many turns of the event loop. Only then time passes. */
const TURNS = 5

/** Lets virtual time pass until the work is done: an answer may come after a wait. */
async function inVirtualTime<T>(world: World, work: Promise<T>): Promise<T> {
  let isDone = false
  const done = () => {
    isDone = true
  }
  work.then(done, done)
  while (!isDone) {
    for (let turn = 0; turn < TURNS && !isDone; turn++) await quiet()
    const next = world.timeline.next()
    if (!isDone && Number.isFinite(next)) await world.run(next)
  }
  return work
}

/** The message by which the waker was to look at the task becomes a dead letter. */
async function loseLook(system: DiagnosticSystem, id: string): Promise<void> {
  const task = await readTask(system, id)
  if (!task) throw new Error(`there is no task ${id} whose message can be lost`)
  const { born, revision } = task
  const letter = {
    messageId: '0f1c2d3e-4b5a-4978-8796-a5b4c3d2e1f0',
    queue: 'wake',
    subject: { kind: 'look', taskId: id, born, revision },
    body: JSON.stringify({ v: 1, kind: 'look', id, born, revision, hops: 0 }),
    sentAt: system.clock.now() - 60_000,
    receives: 10,
  } as const
  const arrived = [letter]
  const queue = { receive: async () => arrived.splice(0), remove: async () => {} }
  await collectDeadLetters(system, queue, Number.POSITIVE_INFINITY)
}
