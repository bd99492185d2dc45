import { createProcesses, type Processes, type ProcessSetting } from './processes.ts'
import type { InvocationError, InvocationResult } from './sandbox.ts'

/**
 * An invocation waits this long for a busy process before the pool starts another one. A start costs 100 ms of a developer's few
 * cores, and most invocations end sooner.
 */
const GROWTH_PATIENCE_MS = 25

type Setting = Omit<ProcessSetting, 'onEnd'> & {
  maxProcesses(): number
  /** Whether a process that ends counts until it is gone. A debugger's port has room for one. */
  readonly waitsForOldProcesses: boolean
}

type Waiting = {
  readonly event: unknown
  readonly traceId: string
  readonly since: number
  resolve(result: InvocationResult): void
}

type PoolState = {
  readonly setting: Setting
  readonly processes: Processes
  readonly queue: Waiting[]
  /** The processes of the present generation that start. */
  starting: number
  hasLoaded: boolean
  isStopped: boolean
  growth: NodeJS.Timeout | undefined
}

/** The processes of one function. The pool grows on demand up to `maxProcesses`; further invocations queue. */
export function createPool(setting: Setting) {
  const processes: Processes = createProcesses({ ...setting, onEnd: () => pump(pool) })
  const pool: PoolState = {
    ...{ setting, processes, queue: [] },
    ...{ starting: 0, hasLoaded: false, isStopped: false, growth: undefined },
  }
  return {
    invoke: (event: unknown, traceId: string) => enqueue(pool, event, traceId),
    /** All processes, also those that end because the pool was renewed. */
    pids: processes.pids,
    warm: async (count: number) => {
      const missing = Math.max(0, Math.min(count, setting.maxProcesses()) - counted(pool))
      await Promise.all(Array.from({ length: missing }, () => startProcess(pool)))
    },
    /** Renews the pool with a process on this code when it has loaded. Returns why it does not load: nothing has changed then. */
    replace: async (...[spec, take]: Parameters<Processes['replace']>) => {
      const problem = await processes.replace(spec, () => take() && !pool.isStopped)
      if (problem) return problem
      pool.hasLoaded = true
      pool.starting = 0
      pump(pool)
      return undefined
    },
    hasLoaded: () => pool.hasLoaded,
    /** From now on invocations run in new processes. The present ones end as soon as their invocations have ended. */
    renew: () => {
      processes.retireAll()
      pool.starting = 0
      pump(pool)
    },
    leave: async () => {
      refuseAll(pool)
      await processes.ended()
    },
    stop: async () => {
      refuseAll(pool)
      processes.killAll()
      await processes.ended()
    },
  }
}

function enqueue(pool: PoolState, event: unknown, traceId: string): Promise<InvocationResult> {
  if (pool.isStopped) return Promise.resolve(failed(shutDown))
  const { promise, resolve } = Promise.withResolvers<InvocationResult>()
  pool.queue.push({ event, traceId, since: performance.now(), resolve })
  pump(pool)
  return promise
}

function pump(pool: PoolState): void {
  if (pool.isStopped) return
  while (pool.queue.length > 0 && pool.processes.idle() > 0) void run(pool, pool.queue.shift() as Waiting)
  grow(pool)
}

async function run(pool: PoolState, { event, traceId, resolve }: Waiting): Promise<void> {
  resolve(await pool.processes.invoke(event, traceId))
  pump(pool)
}

function grow(pool: PoolState): void {
  clearTimeout(pool.growth)
  // The first invocations in the queue get the processes that are already starting.
  const next = pool.queue[pool.starting]
  if (!next || counted(pool) >= pool.setting.maxProcesses()) return
  const waitedMs = performance.now() - next.since
  const patience = pool.processes.present() === 0 ? 0 : GROWTH_PATIENCE_MS - waitedMs
  if (patience > 0) {
    pool.growth = setTimeout(pump, patience, pool)
    return
  }
  void startProcess(pool)
  grow(pool)
}

/** How many of the processes that the function may have are there. */
function counted({ processes, setting }: PoolState): number {
  return processes.present() + (setting.waitsForOldProcesses ? processes.retired() : 0)
}

async function startProcess(pool: PoolState): Promise<void> {
  pool.starting += 1
  const started = await pool.processes.start()
  // The count begins again with each generation, and the waiting invocations get processes of the new one.
  if (started === 'outdated') return
  pool.starting -= 1
  if (started === 'ready') pool.hasLoaded = true
  else if (started !== 'stand-in') fail(pool, started)
  pump(pool)
}

/** Code that cannot be loaded fails all waiting invocations. A process that died while it started fails one. */
function fail({ queue }: PoolState, error: InvocationError): void {
  const failing = queue.splice(0, error.isLoadFailure ? queue.length : 1)
  for (const waiting of failing) waiting.resolve(failed(error))
}

function refuseAll(pool: PoolState): void {
  pool.isStopped = true
  clearTimeout(pool.growth)
  for (const waiting of pool.queue.splice(0)) waiting.resolve(failed(shutDown))
  pool.processes.retireAll()
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

/** Repeats failed asynchronous invocations. */
export function retryLater() {
  const timers = new Set<NodeJS.Timeout>()

  async function run(invoke: () => Promise<InvocationResult>, delays: readonly number[]) {
    const { ok } = await invoke()
    const [delay, ...rest] = delays
    if (ok || delay === undefined) return
    const timer = setTimeout(() => {
      timers.delete(timer)
      void run(invoke, rest)
    }, delay)
    timers.add(timer)
  }

  return {
    run: (invoke: () => Promise<InvocationResult>, delays: readonly number[]) => void run(invoke, delays),
    stop: () => {
      for (const timer of timers) clearTimeout(timer)
    },
  }
}
