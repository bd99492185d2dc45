import type { InvocationError } from './protocol.ts'
import { type FunctionSpec, type InvocationResult, type Sandbox, startSandbox } from './sandbox.ts'

/**
 * An invocation waits this long for a busy process before the pool starts another one. A start costs 100 ms of a developer's few
 * cores, and most invocations end sooner.
 */
const GROWTH_PATIENCE_MS = 25

export type Pool = {
  invoke(event: unknown, traceId: string): Promise<InvocationResult>
  pids(): number[]
  /** Starts processes ahead of the first invocations. */
  warm(count: number): Promise<void>
  stop(): Promise<void>
}

type Waiting = {
  readonly event: unknown
  readonly traceId: string
  readonly since: number
  resolve(result: InvocationResult): void
}

/** The processes of one function. The pool grows on demand up to `maxProcesses`; further invocations queue. */
export function createPool(spec: FunctionSpec, maxProcesses: number, onLine: (line: string) => void): Pool {
  const all = new Set<Sandbox>()
  const idle = createIdleList<Sandbox>(sandbox => sandbox.kill())
  const queue: Waiting[] = []
  let starting = 0
  let stopped = false
  let growth: NodeJS.Timeout | undefined

  async function startProcess() {
    const sandbox = startSandbox(spec, onLine)
    all.add(sandbox)
    starting += 1
    void sandbox.ended.then(() => forget(sandbox))
    const problem = await sandbox.started
    starting -= 1
    if (!problem) return returnToIdle(sandbox)
    sandbox.kill()
    queue.shift()?.resolve(failed(problem))
  }

  function forget(sandbox: Sandbox) {
    all.delete(sandbox)
    idle.remove(sandbox)
    pump()
  }

  function returnToIdle(sandbox: Sandbox) {
    if (sandbox.alive()) idle.put(sandbox)
    pump()
  }

  function pump() {
    if (stopped) return
    while (queue.length > 0 && idle.size() > 0) void run(idle.take() as Sandbox, queue.shift() as Waiting)
    grow()
  }

  async function run(sandbox: Sandbox, { event, traceId, resolve }: Waiting) {
    resolve(await sandbox.invoke(event, traceId))
    returnToIdle(sandbox)
  }

  function grow() {
    clearTimeout(growth)
    // The first invocations in the queue get the processes that are already starting.
    const next = queue[starting]
    if (!next || all.size >= maxProcesses) return
    const patience = all.size === 0 ? 0 : GROWTH_PATIENCE_MS - (performance.now() - next.since)
    if (patience > 0) {
      growth = setTimeout(pump, patience)
      return
    }
    void startProcess()
    grow()
  }

  return {
    invoke: (event, traceId) => {
      if (stopped) return Promise.resolve(failed(shutDown))
      const { promise, resolve } = Promise.withResolvers<InvocationResult>()
      queue.push({ event, traceId, since: performance.now(), resolve })
      pump()
      return promise
    },
    pids: () => [...all].flatMap(({ pid }) => pid ?? []),
    warm: async count => {
      const missing = Math.max(0, Math.min(count, maxProcesses) - all.size)
      await Promise.all(Array.from({ length: missing }, startProcess))
    },
    stop: async () => {
      stopped = true
      clearTimeout(growth)
      for (const waiting of queue.splice(0)) waiting.resolve(failed(shutDown))
      for (const sandbox of all) sandbox.kill()
      await Promise.all([...all].map(({ ended }) => ended))
    },
  }
}

const shutDown: InvocationError = { errorType: 'Local.Stopped', errorMessage: 'The local cloud was stopped' }

const failed = (error: InvocationError): InvocationResult => ({
  ok: false,
  error,
  requestId: '',
  durationMs: 0,
})

/** An idle process is kept this long, as Lambda keeps sandboxes for minutes. Then the process ends and frees its memory. */
const IDLE_KEPT_MS = 5 * 60_000

/** A list of idle items. `take` returns the item that was used last. An item that is idle for too long is retired. */
type IdleList<T> = {
  readonly size: () => number
  put(entry: T): void
  take(): T | undefined
  remove(entry: T): void
}

function createIdleList<T>(retire: (entry: T) => void): IdleList<T> {
  const timers = new Map<T, NodeJS.Timeout>()

  function remove(entry: T) {
    clearTimeout(timers.get(entry))
    timers.delete(entry)
  }

  return {
    size: () => timers.size,
    put: entry => {
      const timer = setTimeout(() => {
        remove(entry)
        retire(entry)
      }, IDLE_KEPT_MS)
      timers.set(entry, timer)
    },
    take: () => {
      const entry = [...timers.keys()].at(-1)
      if (entry !== undefined) remove(entry)
      return entry
    },
    remove,
  }
}
