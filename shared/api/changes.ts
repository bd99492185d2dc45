import { optional, optionals, orNull, strict, tagsRule } from '../core/rules/compound.ts'
import { patchedOptionRules } from '../core/rules/options.ts'
import type { ValueOf } from '../core/rules/rules.ts'
import { duration, oneOf, time } from '../core/rules/scalars.ts'
import { ifRevision, json } from './scalars.ts'
import { clean, stage } from './tasks.ts'

/** The bodies that change a task. */

/** What changes about an open task. What is left out stays as it is. */
export const patchBody = strict(
  {
    /** When the task is due. `delayMs` may be given in its place. @default the present due time */
    dueAt: optional(time),
    /** How long from now until the task is due, in milliseconds. @default the present due time */
    delayMs: optional(duration()),
    /** The input of the task, as JSON of at most 350 KB. @default the present input */
    input: optional(json),
    /** The stage in which the task continues. @default the present stage */
    stage: optional(stage),
    /** Names and values by which people find the task; `null` removes them. @default the present tags */
    tags: optional(orNull(tagsRule)),
    ...optionals(patchedOptionRules),
    /** The revision that the change was made from. If the present revision is another one, the request is refused with 409. @default any */
    ifRevision: optional(ifRevision),
  },
  'Patch',
)

/** A patch. Null returns an option to the default of the task's type, and removes all tags. */
export type PatchBody = ValueOf<typeof patchBody>

/** How a task is tried again. */
export const retryBody = strict(
  {
    /**
     * `restart` starts a finished task over, a flow with its first step. The others act on a failed flow: `retry-do` does the failed step
     * again, `retry-undo` its failed undo, `skip-undo` treats that undo as done, `continue` treats the failed step as done.
     * `retry-callbacks` publishes the callbacks that the task owes. @default `restart` for a plain task, `retry-undo` for a flow whose undo
     * has failed, `retry-do` for any other failed flow
     */
    action: optional(oneOf('restart', 'retry-do', 'retry-undo', 'skip-undo', 'continue', 'retry-callbacks')),
    /** For `restart`: the ended runs that the task forgets. Kept successes still count. @default all of them */
    clean: optional(clean),
    /** The revision that the change was made from. If the present revision is another one, the request is refused with 409. @default any */
    ifRevision: optional(ifRevision),
  },
  'Retry',
)

export type RetryTaskBody = ValueOf<typeof retryBody>
