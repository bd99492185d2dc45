import { setTimeout as sleep } from 'node:timers/promises'
import { vi } from 'vitest'
import { createApi } from '../../functions/http/create-api.ts'
import type { ClaimsAnswer } from '../../shared/api/runs.ts'
import { createClient } from '../../shared/client/client.ts'
import type { Task } from '../../shared/core/task/task.ts'
import { BatonError } from '../../shared/core/values/values.ts'
import { defineTask } from '../../shared/define/define-task.ts'
import type { TaskContext } from '../../shared/define/definitions.ts'
import { readTask } from '../../shared/runtime/kernel/heads.ts'
import { sendMessages } from '../../shared/runtime/plan/plan.ts'
import { ALL_OPERATIONS } from '../../shared/service/operations.ts'
import type { Worker } from '../../shared/worker/engine.ts'
import { runHttpWorker } from '../../shared/worker/http/http-worker.ts'
import { runQueueWorker } from '../../shared/worker/queue-worker.ts'
import { anApi, published, type TestApi } from '../support/http/an-api.ts'
import { createMemoryInbox } from '../support/ports/inbox.ts'
import type { MemorySystem } from '../support/worlds/memory-system.ts'

/** What a test sees of a run, whichever kind of worker has it. */
export type SeenRun = {
  readonly task: { readonly id: string }
  readonly run: { readonly fence: number }
  readonly outcome?: string
  readonly error?: unknown
}

export type Settings = {
  readonly concurrency?: number
  readonly drainMs?: number
  readonly beforeRun?: (run: SeenRun) => unknown
  readonly afterRun?: (run: SeenRun) => unknown
  readonly onError?: (failure: Partial<SeenRun>) => unknown
}

/** What a keeper may fail to write. */
type Report = 'beat' | 'end'

export type WorkerOfKind = {
  readonly system: MemorySystem
  readonly worker: Worker
  /** The messages of errors that the worker has logged. */
  readonly errors: readonly string[]
  /** The reports that fail from now on, as in an outage. */
  readonly outage: Set<Report>
  /** Holds the answers that bring claimed tasks, from now on until `letGo`. */
  holdClaims(): HeldClaims
  /** Publishes a task for the worker. Returns its id. */
  publish(body?: object): Promise<string>
  head(id: string): Promise<Task>
  /** Moves the clock until the condition holds. */
  until(holds: () => unknown): Promise<void>
  /** Ends the worker. */
  end(): Promise<void>
}

type HeldClaims = {
  /** The number of answers that are held now. */
  waiting(): number
  letGo(): void
}

export const KINDS = ['queue', 'http'] as const

// biome-ignore lint/suspicious/noExplicitAny: handlers of any input
export type Run = (input: any, context: TaskContext) => unknown

/** A worker of one kind that serves one type with this handler, on a system in memory. It has started. */
export async function aWorkerOfKind(
  kind: (typeof KINDS)[number],
  run: Run,
  settings: Settings = {},
): Promise<WorkerOfKind> {
  const api = await anApi()
  const { system } = api
  const outage = new Set<Report>()
  const claims = aBarrier()
  const errors: string[] = []
  const log = { ...system.log, warn: () => {}, error: (message: string) => void errors.push(message) }
  const made = { queue: aQueueWorker, http: anHttpWorker }[kind](api, run, settings, { outage, claims, log })
  const until = (holds: () => unknown) => passTime(system, made.isBusy, holds)
  made.worker.start()
  return {
    ...{ system, worker: made.worker, errors, outage, until },
    holdClaims: claims.hold,
    publish: async (body = {}) => {
      const id = await published(api, { type: made.type, ...body })
      const head = await headOf(system, id)
      if (head.options.workerIds.length > 0) await sendMessages(system, [head])
      else made.announce(head)
      return id
    },
    head: id => headOf(system, id),
    end: async () => {
      const ended = made.worker.abort().then(() => true)
      let isOver = false
      void ended.then(() => {
        isOver = true
      })
      await until(() => isOver)
    },
  }
}

/** Lets everything pass until it is told to hold. */
function aBarrier() {
  let opening: PromiseWithResolvers<void> | undefined
  let waiting = 0
  return {
    pass: async () => {
      waiting += 1
      await opening?.promise
      waiting -= 1
    },
    hold: (): HeldClaims => {
      opening = Promise.withResolvers()
      return { waiting: () => waiting, letGo: opening.resolve }
    },
  }
}

type Faults = {
  readonly outage: ReadonlySet<Report>
  readonly claims: ReturnType<typeof aBarrier>
  readonly log: MemorySystem['log']
}

type Made = {
  readonly type: string
  readonly worker: Worker
  /** Whether a call is under way that must not take virtual time. */
  isBusy(): boolean
  /** Lets the worker know of a task that names no worker. */
  announce(task: Task): void
}

function aQueueWorker(
  { system }: TestApi,
  run: Run,
  settings: Settings,
  { outage, claims, log }: Faults,
): Made {
  const inbox = createMemoryInbox(system.clock)
  const apply: MemorySystem['tasks']['apply'] = async change => {
    const { operation } = change.after
    const report = operation === 'beat' ? 'beat' : isEnd(operation) && 'end'
    if (report && outage.has(report)) throw new BatonError('unavailable', 'no answer')
    const applied = await system.tasks.apply(change)
    if (operation === 'claim' && applied.applied) await claims.pass()
    return applied
  }
  const reached = { ...system, log, tasks: { ...system.tasks, apply } }
  const tasks = [defineTask('resize', { run })]
  return {
    type: 'resize',
    worker: runQueueWorker(reached, inbox, { ...settings, tasks, workerId: 'w1' }),
    isBusy: () => false,
    announce: task => inbox.put(task),
  }
}

function isEnd(operation: string): boolean {
  return ['succeed', 'fail', 'release'].includes(operation)
}

function anHttpWorker(
  { system }: TestApi,
  run: Run,
  settings: Settings,
  { outage, claims, log }: Faults,
): Made {
  const app = createApi(system, ALL_OPERATIONS, { claimPace: { retryAfterMs: 20, maxWaiting: 50 } })
  let underWay = 0
  const client = createClient({
    url: 'http://baton.test',
    fetch: async request => {
      const { pathname } = new URL(request.url)
      if (pathname === '/v1/claims') {
        const answer = await app.request(request)
        const brought = ((await answer.clone().json()) as ClaimsAnswer).claims
        if (brought?.length > 0) await claims.pass()
        return answer
      }
      const report = pathname === '/v1/runs/heartbeat' ? 'beat' : 'end'
      if (outage.has(report)) return Response.json({ message: 'Service Unavailable' }, { status: 503 })
      underWay += 1
      return Promise.resolve(app.request(request)).finally(() => {
        underWay -= 1
      })
    },
  })
  const tasks = [defineTask('jobs', { run })]
  return {
    type: 'jobs',
    worker: runHttpWorker(
      { ...settings, tasks, client, waitMs: 100 },
      { clock: system.clock, log, workerId: 'w1' },
    ),
    isBusy: () => underWay > 0,
    announce: () => {},
  }
}

async function headOf(system: MemorySystem, id: string): Promise<Task> {
  const head = await readTask(system, id)
  if (!head) throw new Error(`there is no ${id}`)
  return head
}

/** Moves the clock in small steps until the condition holds. It stands still during a call of the API. */
async function passTime({ clock }: MemorySystem, isBusy: () => boolean, holds: () => unknown): Promise<void> {
  await vi.waitFor(
    async () => {
      if (!isBusy()) await clock.advance(50)
      await sleep(1)
      if (!(await holds())) throw new Error('the condition does not hold')
    },
    { timeout: 60_000, interval: 0 },
  )
}
