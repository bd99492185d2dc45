import type { ApiCanvas } from '../../api/canvases.ts'
import type { ApiTask } from '../../api/tasks.ts'
import { type Client, createClient } from '../../client/client.ts'
import type { ClientSettings } from '../../client/send.ts'
import { BatonError, illegal } from '../../core/values/values.ts'
import type { AnyDefinition } from '../../define/definitions.ts'
import { callsOf, checkInput, type Publishable } from './calls.ts'
import { type DeployedTestSystem, durationMs, nameOf } from './test-system.ts'

/** The settings of a test system that is deployed, or that `baton dev` runs. */
export type DeployedSettings = ClientSettings & {
  /** The address of the system. */
  readonly url: string
  /** Not needed here. They may be given, so that one test file has the same settings for a system in memory. */
  readonly tasks?: readonly AnyDefinition[]
  readonly flows?: readonly AnyDefinition[]
}

const IDLE_WITHIN = '60s'
const FIRST_PAUSE_MS = 50
const LAST_PAUSE_MS = 1_000
const GROWTH = 1.5

/** The test system behind a URL: it calls the HTTP API by the public client. */
export function createDeployedSystem(settings: DeployedSettings): DeployedTestSystem {
  const { url } = settings
  if (!URL.canParse(url))
    throw illegal(`url: '${url}' is not a URL; leave it undefined for a system in memory`)
  const client = createClient(settings)
  const send = client.publish as unknown as (...given: unknown[]) => Promise<{ readonly id: string }>
  const published = new Set<string>()
  const publish = async (what: unknown, ...given: unknown[]) => {
    await checkInput(what as Publishable, given[0])
    const answer = await send(what, ...given)
    published.add(answer.id)
    return answer
  }
  return {
    ...callsOf(client, body => client.claim(body)),
    ...readsOf(client),
    ...refusals(),
    publish: publish as unknown as DeployedTestSystem['publish'],
    runUntilIdle: ({ within = IDLE_WITHIN } = {}) =>
      untilEnded(client, published, durationMs('runUntilIdle', within)),
  }
}

function readsOf(client: Client): Pick<DeployedTestSystem, 'task' | 'tasks' | 'children' | 'counts'> {
  const listed = async (filter: Parameters<Client['list']>[0]) => {
    const all: ApiTask[] = []
    for await (const task of client.list(filter)) all.push(task)
    return all
  }
  return {
    task: id => client.get(id),
    tasks: ({ type, status, userId } = {}) =>
      listed({
        ...(type !== undefined && { type: nameOf(type) }),
        ...(status !== undefined && { status: [status].flat() as ApiTask['status'][] }),
        ...(userId !== undefined && { userId }),
        order: 'created',
      }),
    children: async id => {
      const { items } = await client.types({ limit: 100 })
      const lists = await Promise.all(items.map(({ type }) => listed({ type, order: 'created' })))
      return lists.flat().filter(({ parentId }) => parentId === id)
    },
    counts: type => client.counts(nameOf(type)),
  }
}

const HERE = 'not available against a deployed system'

/** The calls that need virtual time, or access to the inside of the system. */
function refusals() {
  const refused = (name: string) => new BatonError('refused', `${name}: ${HERE}`)
  const throws = (name: string) => (): never => {
    throw refused(name)
  }
  const rejects = (name: string) => () => Promise.reject(refused(name))
  return {
    advance: rejects('advance'),
    sleep: rejects('sleep'),
    fail: throws('fail'),
    kill: throws('kill'),
    freeze: throws('freeze'),
    takes: throws('takes'),
    limits: throws('limits'),
    logs: throws('logs'),
    now: throws('now'),
  }
}

/** Reads the tasks and canvases again and again until all of them have ended. */
async function untilEnded(client: Client, ids: ReadonlySet<string>, withinMs: number): Promise<void> {
  const open = new Set(ids)
  const until = Date.now() + withinMs
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * GROWTH, LAST_PAUSE_MS)) {
    for (const id of open) if (hasEnded(await statusOf(client, id))) open.delete(id)
    if (open.size === 0) return
    if (Date.now() >= until)
      throw new BatonError('refused', `after ${withinMs} ms still open: ${[...open].join(', ')}`)
    await new Promise(resolve => setTimeout(resolve, pause))
  }
}

/** The status of a task or a canvas. Undefined when it is gone. */
async function statusOf(
  client: Client,
  id: string,
): Promise<ApiTask['status'] | ApiCanvas['status'] | undefined> {
  const read = id.startsWith(CANVAS_IDS) ? client.canvas(id, { limit: 1 }) : client.get(id)
  return read.then(
    ({ status }) => status,
    error => {
      if (error?.status === 404) return undefined
      throw error
    },
  )
}

const CANVAS_IDS = 'canvas:'

function hasEnded(status: string | undefined): boolean {
  return status === undefined || status === 'succeeded' || status === 'failed' || status === 'cancelled'
}
