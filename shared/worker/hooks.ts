import type { LiveRun } from '../core/task/runs.ts'
import type { Task } from '../core/task/task.ts'
import type { Log } from '../ports/machine.ts'
import { logFields } from '../runtime/kernel/log-run-ends.ts'
import type { Ran, RunHooks } from '../runtime/run/run.ts'

/** A task and the worker's run of it. */
export type HookedRun = { readonly task: Task; readonly run: LiveRun }

/**
 * A run that has ended: what `beforeRun` got, and how the run ended. `outcome` is `stopped` when the run was cancelled, removed or lost
 * meanwhile, and the worker wrote nothing. `error` says why the run failed.
 */
export type EndedHookedRun<Run = HookedRun> = Run & Ran

/** A failure. `run` is absent when the task was not claimed. `task` is absent too when nothing could be received. */
export type Failure<Run = HookedRun> = { readonly error: unknown } & Partial<Run>

/**
 * Functions that the worker calls around runs. The worker logs a hook that throws, and goes on. When the worker ends, it
 * does not wait for a hook that hangs.
 */
export type Hooks<Run = HookedRun> = {
  /** Called before the handler. The handler waits for it, and the run sends heartbeats meanwhile. */
  readonly beforeRun?: (run: Run) => unknown
  /** Called after the end of the run was written. The worker takes another task in its place only afterwards. */
  readonly afterRun?: (run: EndedHookedRun<Run>) => unknown
  /** Called for every failure: of a handler, with the stored error, and of the worker itself (storage, queues, API). */
  readonly onError?: (failure: Failure<Run>) => unknown
}

type Hooked = { readonly task: { readonly id: string } }

/** The hooks in a form that never throws and never outlasts the worker. */
export function safeHooks<Run extends Hooked>(
  { beforeRun, afterRun, onError }: Hooks<Run>,
  log: Log,
  aborting: AbortSignal,
): RunHooks<Run> {
  const safe =
    <About extends Partial<Hooked>>(name: keyof Hooks, hook?: (about: About) => unknown) =>
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
