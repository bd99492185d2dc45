import type { InvocationError } from './protocol.ts'
import { type FunctionSpec, type InvocationResult, type Sandbox, startSandbox } from './sandbox.ts'

/** Gives the settings and the code of the next process. It rejects when there is no code that could run. */
export type Source = () => Promise<FunctionSpec>

/** The processes of one function: those of the present generation, and retired ones that end their last invocation. */
export type Processes = {
  /** Starts a process. `outdated`: the generation has changed meanwhile. An error says why there is no process. */
  start(): Promise<'ready' | 'outdated' | InvocationError>
  /** Runs an invocation in an idle process. The caller has made sure that there is one. */
  invoke(event: unknown, traceId: string): Promise<InvocationResult>
  /** How many processes wait for an invocation. */
  idle(): number
  /** How many processes the present generation has, with those that start. */
  present(): number
  retired(): number
  pids(): number[]
  /** Begins a new generation. Processes of the old one end with their present invocation. */
  retireAll(): void
  /** Kills the retired processes. */
  killAll(): void
  /** Resolves when all retired processes have ended. */
  ended(): Promise<void>
}

type Setting = {
  readonly source: Source
  readonly onLine: (line: string) => void
  /** Called after a process has ended. */
  readonly onEnd: () => void
  /** Whether the function is idle most of the time, so that its last process ends as early as spare ones. */
  readonly isMostlyIdle: () => boolean
}

export function createProcesses({ source, onLine, onEnd, isMostlyIdle }: Setting): Processes {
  const present = new Set<Sandbox>()
  const retired = new Set<Sandbox>()
  const retireIdle = (sandbox: Sandbox) => {
    present.delete(sandbox)
    retired.add(sandbox)
    sandbox.kill()
  }
  const idle = createIdleList(retireIdle, () => present.size > 1 || isMostlyIdle())
  /** Starts that still wait for their code. */
  let opening = 0
  let generation = 0

  function open(spec: FunctionSpec): Sandbox {
    const sandbox = startSandbox(spec, onLine)
    present.add(sandbox)
    void sandbox.ended.then(() => {
      present.delete(sandbox)
      retired.delete(sandbox)
      idle.remove(sandbox)
      onEnd()
    })
    return sandbox
  }

  return {
    start: async () => {
      const mine = generation
      opening += 1
      const spec = await source().catch((cause: unknown) => missingCode(cause))
      if (mine !== generation) return 'outdated'
      opening -= 1
      if ('errorType' in spec) return spec
      const sandbox = open(spec)
      const problem = await sandbox.started
      if (mine !== generation) return 'outdated'
      if (problem) sandbox.kill()
      else if (sandbox.alive()) idle.put(sandbox)
      return problem ?? 'ready'
    },
    invoke: async (event, traceId) => {
      const sandbox = idle.take() as Sandbox
      const result = await sandbox.invoke(event, traceId)
      if (sandbox.alive()) idle.put(sandbox)
      return result
    },
    idle: idle.size,
    present: () => present.size + opening,
    retired: () => retired.size,
    pids: () => [...present, ...retired].flatMap(({ pid }) => pid ?? []),
    retireAll: () => {
      generation += 1
      opening = 0
      for (const sandbox of present) {
        idle.remove(sandbox)
        retired.add(sandbox)
        sandbox.retire()
      }
      present.clear()
    },
    killAll: () => {
      for (const sandbox of retired) sandbox.kill()
    },
    ended: async () => {
      await Promise.all([...retired].map(({ ended }) => ended))
    },
  }
}

function missingCode(cause: unknown): InvocationError {
  const errorMessage = cause instanceof Error ? cause.message : String(cause)
  return { errorType: 'Local.NoCode', errorMessage, isLoadFailure: true }
}

/** An idle process is kept this long, as Lambda keeps sandboxes for minutes. Then the process ends and frees its memory. */
const IDLE_KEPT_MS = 5 * 60_000
/** A process beside others of its function is kept this long only: each has 20 to 50 MB of its own. */
const SPARE_KEPT_MS = 10_000

/** A list of idle items. `take` returns the item that was used last. An item that is idle for too long is retired. */
type IdleList<T> = {
  readonly size: () => number
  put(entry: T): void
  take(): T | undefined
  remove(entry: T): void
}

/** `isSpare` tells whether an idle item may end early: another item exists, or the function is idle most of the time. */
export function createIdleList<T>(retire: (entry: T) => void, isSpare: () => boolean): IdleList<T> {
  const timers = new Map<T, NodeJS.Timeout>()

  function remove(entry: T) {
    clearTimeout(timers.get(entry))
    timers.delete(entry)
  }

  function end(entry: T) {
    remove(entry)
    retire(entry)
  }

  function endIfSpare(entry: T) {
    if (isSpare()) return end(entry)
    timers.set(entry, setTimeout(end, IDLE_KEPT_MS - SPARE_KEPT_MS, entry))
  }

  return {
    size: () => timers.size,
    put: entry => void timers.set(entry, setTimeout(endIfSpare, SPARE_KEPT_MS, entry)),
    take: () => {
      const entry = [...timers.keys()].at(-1)
      if (entry !== undefined) remove(entry)
      return entry
    },
    remove,
  }
}
