import type { TaskError } from '../core/task/error.ts'
import type { LiveRun } from '../core/task/runs.ts'
import type { Task } from '../core/task/task.ts'
import type { Log } from '../ports/machine.ts'
import { logFields } from '../runtime/kernel/traceparent.ts'
import type { Ran } from '../runtime/run/run.ts'

/** A task and the worker's run of it. */
export type HookedRun = { readonly task: Task; readonly run: LiveRun }

export type EndedHookedRun = HookedRun & {
  /** How the run ended. `stopped`: the run was cancelled, removed or lost meanwhile, and the worker wrote nothing. */
  readonly outcome: Ran['outcome']
  /** Why the run failed; present when `outcome` is `fail`. */
  readonly error?: TaskError
}

/** A failure. `run` is absent when the task was not claimed. `task` is absent too when nothing could be received. */
export type Failure = { readonly error: unknown; readonly task?: Task; readonly run?: LiveRun }

/**
 * Functions that the worker calls around runs. The worker logs a hook that throws, and goes on. When the worker ends, it
 * does not wait for a hook that hangs.
 */
export type Hooks = {
  /** Called before the handler. The handler waits for it, and the run sends heartbeats meanwhile. */
  readonly beforeRun?: (run: HookedRun) => unknown
  /** Called after the end of the run was written. The worker takes another task in its place only afterwards. */
  readonly afterRun?: (run: EndedHookedRun) => unknown
  /** Called for every failure: of a handler, with the stored error, and of the worker itself (storage, queues). */
  readonly onError?: (failure: Failure) => unknown
}

/** The hooks in a form that never throws and never outlasts the worker. */
export type SafeHooks = {
  readonly [Name in keyof Hooks]-?: (about: Parameters<NonNullable<Hooks[Name]>>[0]) => Promise<void>
}

export function safeHooks(
  { beforeRun, afterRun, onError }: Hooks,
  log: Log,
  aborting: AbortSignal,
): SafeHooks {
  const safe =
    <About extends Partial<HookedRun>>(name: keyof Hooks, hook?: (about: About) => unknown) =>
    async (about: About) => {
      try {
        if (hook) await endOrAbort(hook(about), aborting)
      } catch (error) {
        log.error(`the hook ${name} threw`, { ...(about.task && logFields(about.task)), error })
      }
    }
  return {
    beforeRun: safe('beforeRun', beforeRun),
    afterRun: safe('afterRun', afterRun),
    onError: safe('onError', onError),
  }
}

async function endOrAbort(hookResult: unknown, aborting: AbortSignal): Promise<void> {
  const hookEnded = new AbortController()
  const aborted = new Promise<void>(resolve => {
    if (aborting.aborted) resolve()
    aborting.addEventListener('abort', () => resolve(), { once: true, signal: hookEnded.signal })
  })
  try {
    await Promise.race([hookResult, aborted])
  } finally {
    hookEnded.abort()
  }
}
