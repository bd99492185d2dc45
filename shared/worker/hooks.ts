import type { LiveRun, Task, TaskError } from '../core/task/task.ts'
import type { Log } from '../ports/machine.ts'
import { logFields } from '../runtime/kernel/traceparent.ts'
import type { Ran } from '../runtime/run/run.ts'

/** A task and the worker's hold on it. */
export type HookedRun = { readonly task: Task; readonly run: LiveRun }

export type EndedHookedRun = HookedRun & {
  /** `stopped`: the run was taken away (cancelled, removed, lost), and nothing was written. */
  readonly outcome: Ran['outcome']
  /** Why it failed. */
  readonly error?: TaskError
}

/** `run` is missing when it never came to one, and `task` too when nothing could be received. */
export type Failure = { readonly error: unknown; readonly task?: Task; readonly run?: LiveRun }

/** What is called around runs. A hook that throws is logged; one that hangs is left behind when the worker ends. */
export type Hooks = {
  /** Before the handler, under the run's heartbeats; the handler waits for it. */
  readonly beforeRun?: (run: HookedRun) => unknown
  /** After the end of the run was written; its slot is free only afterwards. */
  readonly afterRun?: (run: EndedHookedRun) => unknown
  /** Every failure: of a handler, with its stored error, and of the worker itself (storage, queues). */
  readonly onError?: (failure: Failure) => unknown
}

/** The hooks, made harmless. */
export type SafeHooks = {
  readonly [Name in keyof Hooks]-?: (about: Parameters<NonNullable<Hooks[Name]>>[0]) => Promise<void>
}

export function safeHooks(
  { beforeRun, afterRun, onError }: Hooks,
  log: Log,
  stopping: AbortSignal,
): SafeHooks {
  const safe =
    <About extends Partial<HookedRun>>(name: keyof Hooks, hook?: (about: About) => unknown) =>
    async (about: About) => {
      try {
        if (hook) await settledOrStopped(hook(about), stopping)
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

async function settledOrStopped(hooked: unknown, stopping: AbortSignal): Promise<void> {
  const over = new AbortController()
  const stopped = new Promise<void>(resolve => {
    if (stopping.aborted) resolve()
    stopping.addEventListener('abort', () => resolve(), { once: true, signal: over.signal })
  })
  try {
    await Promise.race([hooked, stopped])
  } finally {
    over.abort()
  }
}
