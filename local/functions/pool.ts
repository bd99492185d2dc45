import { createProcesses, type Source } from './processes.ts'
import type { InvocationError } from './protocol.ts'
import type { InvocationResult } from './sandbox.ts'

/**
 * An invocation waits this long for a busy process before the pool starts another one. A start costs 100 ms of a developer's few
 * cores, and most invocations end sooner.
 */
const GROWTH_PATIENCE_MS = 25

export type Pool = {
  invoke(event: unknown, traceId: string): Promise<InvocationResult>
  /** All processes, also those that end because the pool was renewed. */
  pids(): number[]
  /** Starts processes ahead of the first invocations. */
  warm(count: number): Promise<void>
  /** From now on invocations run in new processes. The present ones end as soon as their invocations have ended. */
  renew(): void
  /** Takes no more invocations. Resolves when those under way have ended. */
  leave(): Promise<void>
  /** Ends all processes at once. */
  stop(): Promise<void>
}

type Setting = {
  readonly source: Source
  /** How many processes may run at the same time. */
  maxProcesses(): number
  /** Whether a process that ends counts until it is gone. A debugger's port has room for one. */
  readonly waitsForOldProcesses: boolean
  /** Whether the function is idle most of the time. */
  readonly isMostlyIdle: () => boolean
  readonly onLine: (line: string) => void
}

type Waiting = {
  readonly event: unknown
  readonly traceId: string
  readonly since: number
  resolve(result: InvocationResult): void
}

/** The processes of one function. The pool grows on demand up to `maxProcesses`; further invocations queue. */
export function createPool({
  source,
  maxProcesses,
  waitsForOldProcesses,
  onLine,
  isMostlyIdle,
}: Setting): Pool {
  const processes = createProcesses({ source, onLine, onEnd: pump, isMostlyIdle })
  const queue: Waiting[] = []
  let starting = 0
  let isStopped = false
  let growth: NodeJS.Timeout | undefined

  async function startProcess() {
    starting += 1
    const started = await processes.start()
    // The count begins anew with each generation, and the waiting invocations get processes of the new one.
    if (started === 'outdated') return
    starting -= 1
    if (started !== 'ready') fail(started)
    pump()
  }

  /** Code that cannot be loaded fails all waiting invocations. A process that died while it started fails one. */
  function fail(error: InvocationError) {
    const failing = queue.splice(0, error.isLoadFailure ? queue.length : 1)
    for (const waiting of failing) waiting.resolve(failed(error))
  }

  function pump() {
    if (isStopped) return
    while (queue.length > 0 && processes.idle() > 0) void run(queue.shift() as Waiting)
    grow()
  }

  async function run({ event, traceId, resolve }: Waiting) {
    resolve(await processes.invoke(event, traceId))
    pump()
  }

  /** How many of the processes that the function may have are there. */
  const counted = () => processes.present() + (waitsForOldProcesses ? processes.retired() : 0)

  function grow() {
    clearTimeout(growth)
    // The first invocations in the queue get the processes that are already starting.
    const next = queue[starting]
    if (!next || counted() >= maxProcesses()) return
    const patience = processes.present() === 0 ? 0 : GROWTH_PATIENCE_MS - (performance.now() - next.since)
    if (patience > 0) {
      growth = setTimeout(pump, patience)
      return
    }
    void startProcess()
    grow()
  }

  function refuseAll() {
    isStopped = true
    clearTimeout(growth)
    for (const waiting of queue.splice(0)) waiting.resolve(failed(shutDown))
    processes.retireAll()
  }

  return {
    invoke: (event, traceId) => {
      if (isStopped) return Promise.resolve(failed(shutDown))
      const { promise, resolve } = Promise.withResolvers<InvocationResult>()
      queue.push({ event, traceId, since: performance.now(), resolve })
      pump()
      return promise
    },
    pids: processes.pids,
    warm: async count => {
      const missing = Math.max(0, Math.min(count, maxProcesses()) - counted())
      await Promise.all(Array.from({ length: missing }, startProcess))
    },
    renew: () => {
      processes.retireAll()
      starting = 0
      pump()
    },
    leave: async () => {
      refuseAll()
      await processes.ended()
    },
    stop: async () => {
      refuseAll()
      processes.killAll()
      await processes.ended()
    },
  }
}

const shutDown: InvocationError = {
  errorType: 'Local.Stopped',
  errorMessage: 'The function or its local cloud was stopped',
}

const failed = (error: InvocationError): InvocationResult => ({
  ok: false,
  error,
  requestId: '',
  durationMs: 0,
})
