import type { FunctionSpec, InvocationError, InvocationResult, Sandbox } from './sandbox.ts'
import { startSandbox } from './sandbox.ts'

/** Gives the settings and the code of the next process. It rejects when there is no code that could run. */
type Source = () => Promise<FunctionSpec>

/** Called when new code has loaded. Returns whether its process has the settings that the function has by then. */
type Take = () => boolean

export type ProcessSetting = {
  readonly source: Source
  readonly onLine: (line: string) => void
  readonly onEnd: () => void
  /** Whether the function is idle most of the time, so that its last process ends as early as spare ones. */
  readonly isMostlyIdle: () => boolean
}

/** The processes, and how many of the present generation still wait for their code. */
type State = {
  readonly setting: ProcessSetting
  readonly present: Set<Sandbox>
  readonly old: Set<Sandbox>
  readonly idle: ReturnType<typeof createIdleList<Sandbox>>
  opening: number
  generation: number
}

export type Processes = ReturnType<typeof createProcesses>

/** The processes of one function: the present generation, and retired processes that end their last invocation. */
export function createProcesses(setting: ProcessSetting) {
  const [present, old] = [new Set<Sandbox>(), new Set<Sandbox>()]
  const retireIdle = (sandbox: Sandbox) => {
    present.delete(sandbox)
    old.add(sandbox)
    sandbox.kill()
  }
  const idle = createIdleList(retireIdle, () => present.size > 1 || setting.isMostlyIdle())
  const state: State = { setting, present, old, idle, opening: 0, generation: 0 }
  return {
    start: () => start(state),
    replace: (spec: FunctionSpec, take: Take) => replace(state, spec, take),
    /** Runs an invocation in an idle process. The caller has made sure that there is one. */
    invoke: async (event: unknown, traceId: string): Promise<InvocationResult> => {
      const sandbox = idle.take() as Sandbox
      const result = await sandbox.invoke(event, traceId)
      if (sandbox.alive()) idle.put(sandbox)
      return result
    },
    /** How many processes wait for an invocation. */
    idle: idle.size,
    /** How many processes the present generation has, with those that start. */
    present: () => present.size + state.opening,
    retired: () => old.size,
    pids: () => [...present, ...old].flatMap(({ pid }) => pid ?? []),
    retireAll: () => retireAll(state),
    killAll: () => {
      for (const sandbox of old) sandbox.kill()
    },
    /** Resolves when all retired processes have ended. */
    ended: async () => {
      await Promise.all([...old].map(({ ended }) => ended))
    },
  }
}

/**
 * Starts a process. `outdated`: the generation has changed meanwhile. `stand-in`: the code does not load, and its stand-in runs one
 * invocation. An error says why there is no process.
 */
async function start(state: State): Promise<'ready' | 'stand-in' | 'outdated' | InvocationError> {
  const mine = state.generation
  state.opening += 1
  const spec = await state.setting.source().catch((cause: unknown) => missingCode(cause))
  if (mine !== state.generation) return 'outdated'
  state.opening -= 1
  if ('errorType' in spec) return spec
  const sandbox = open(state, spec, state.present)
  const problem = await sandbox.started
  if (mine !== state.generation) return 'outdated'
  if (problem?.hasStandIn || sandbox.alive()) state.idle.put(sandbox)
  else sandbox.kill()
  return problem?.hasStandIn ? 'stand-in' : (problem ?? 'ready')
}

/** Lambda gives code 10 s to load. A busy machine may need longer. */
const LOADING_MS_MAX = 30_000

/** Begins a new generation with a process on this code. If the code does not load, it returns why, and changes nothing. */
async function replace(state: State, spec: FunctionSpec, take: Take): Promise<InvocationError | undefined> {
  const { present, old, idle } = state
  const sandbox = open(state, spec, old)
  const overdue = setTimeout(sandbox.kill, LOADING_MS_MAX)
  const problem = await sandbox.started
  clearTimeout(overdue)
  const isKept = !problem && take()
  if (!problem) retireAll(state)
  if (!isKept || !sandbox.alive()) {
    sandbox.kill()
    return problem
  }
  old.delete(sandbox)
  present.add(sandbox)
  idle.put(sandbox)
  return undefined
}

function open({ setting, present, old, idle }: State, spec: FunctionSpec, among: Set<Sandbox>): Sandbox {
  const sandbox = startSandbox(spec, setting.onLine)
  among.add(sandbox)
  void sandbox.ended.then(() => {
    present.delete(sandbox)
    old.delete(sandbox)
    idle.remove(sandbox)
    setting.onEnd()
  })
  return sandbox
}

/** Begins a new generation. Processes of the old one end with their present invocation. */
function retireAll(state: State): void {
  const { present, old, idle } = state
  state.generation += 1
  state.opening = 0
  for (const sandbox of present) {
    idle.remove(sandbox)
    old.add(sandbox)
    sandbox.retire()
  }
  present.clear()
}

function missingCode(cause: unknown): InvocationError {
  const errorMessage = cause instanceof Error ? cause.message : String(cause)
  return { errorType: 'Local.NoCode', errorMessage, isLoadFailure: true }
}

/** An idle process is kept this long, as Lambda keeps sandboxes for minutes. Then the process ends and frees its memory. */
const IDLE_KEPT_MS = 5 * 60_000
/** Of several processes of a function, all but one are kept this long only: each has 20 to 50 MB of its own. */
const SPARE_KEPT_MS = 10_000

/**
 * A list of idle items. `take` returns the item that was used last. An item that is idle for too long is retired. `isSpare` says whether
 * an idle item may end early: another item exists, or the function is idle most of the time.
 */
export function createIdleList<T>(retire: (entry: T) => void, isSpare: () => boolean) {
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
    put: (entry: T) => void timers.set(entry, setTimeout(endIfSpare, SPARE_KEPT_MS, entry)),
    take: () => {
      const entry = [...timers.keys()].at(-1)
      if (entry !== undefined) remove(entry)
      return entry
    },
    remove,
  }
}
