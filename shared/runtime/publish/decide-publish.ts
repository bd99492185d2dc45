import type { Change } from '../../core/change.ts'
import { restart } from '../../core/operate/operate.ts'
import { create, isGone, type Publication, update } from '../../core/publish.ts'
import { liveRuns, type Task } from '../../core/task/task.ts'
import { defined, type FieldProblem } from '../../core/values/values.ts'
import { preparedChange } from '../kernel/kernel.ts'
import { inPublishSpan } from '../kernel/spans.ts'
import type { System } from '../kernel/system.ts'
import { markFair } from '../place/fair.ts'
import { batchTypeReader, type TypeReader } from '../types/type-cache.ts'
import { registeredNames } from '../types/types.ts'
import type { PublicationDraft, PublishRequest, UnknownType } from './resolve-publication.ts'
import { resolveRequest, withNewBirth } from './resolve-publication.ts'

/**
 * What a publish does with the task `current` that has its key. Not `ok`: the publish is refused, for one of the
 * reasons that `startOver` and `debounced` name, or because `ifExists` is `reject` and that task is running.
 */
type PublishDecision =
  | { readonly ok: true; readonly created: boolean; readonly change?: Change<Task> }
  | { readonly ok: false; readonly change?: undefined }

const UNCHANGED: PublishDecision = { ok: true, created: false }

export function decidePublish(
  current: Task | undefined,
  publication: Publication,
  request: PublishRequest,
  now: number,
): PublishDecision {
  const { ifExists = 'keep', once, causedBy, debounce, throttle } = request
  const isRepeated = once || (causedBy !== undefined && current?.causedBy === causedBy)
  if (current && isRepeated) return UNCHANGED
  if (!current || isGone(current, now)) {
    return { ok: true, created: true, change: create(publication, current, now) }
  }
  if (debounce) return debounced(current, publication, debounce, now)
  if (throttle) return throttled(current, publication, throttle, now)
  switch (ifExists) {
    case 'keep':
      return UNCHANGED
    case 'update':
      return outcomeOf(update(current, publication, now))
    case 'reject':
      return liveRuns(current).length > 0 ? { ok: false } : UNCHANGED
    case 'restart':
      return startOver(current, publication, request, now)
  }
}

/**
 * Restarts the task. This is refused while a run is live, while a flow is between two of its steps, and while
 * callbacks of its end are owed.
 */
function startOver(
  current: Task,
  publication: Publication,
  { clean = ['failed', 'succeeded'] }: Pick<PublishRequest, 'clean'>,
  now: number,
): PublishDecision {
  const decision = restart(current, { publication, clean, keepInput: false, evenWaiting: true }, now)
  const isBusy = !decision.ok && (decision.reason === 'running' || decision.reason === 'owes')
  return isBusy ? { ok: false } : outcomeOf(decision)
}

function outcomeOf(decision: { ok: true; change: Change<Task> } | { ok: false }): PublishDecision {
  return decision.ok ? { ok: true, created: false, change: decision.change } : UNCHANGED
}

/**
 * Debounces: a waiting task takes the new body and a new due time, at most `maxWaitMs` after its first publish, so that it cannot be put
 * off for ever. An ended task starts over. The publish is refused when the task runs, or when an unrelated task has the key of a successor.
 */
function debounced(
  current: Task,
  publication: Publication,
  { ms, maxWaitMs }: NonNullable<PublishRequest['debounce']>,
  now: number,
): PublishDecision {
  if (publication.parentId !== undefined && !isDebounceSuccessor(current, publication.parentId))
    return { ok: false }
  if (current.state !== 'open') return asCreated(startOver(current, publication, {}, now))
  const latest = maxWaitMs === undefined ? Number.POSITIVE_INFINITY : current.createdAt + maxWaitMs
  const dueAt = Math.max(now, Math.min(now + ms, latest))
  const updated = update(current, { ...publication, dueAt }, now)
  return updated.ok ? outcomeOf(updated) : { ok: false }
}

/** Whether the task was published as a successor: while the task of the debounced key itself was running. */
export function isDebounceSuccessor({ parentId }: Task, followed: string): boolean {
  return parentId === followed
}

/**
 * Throttles: the first publish of a window counts. The window also lasts as long as the task is open, or its callbacks are being
 * published. The publish is refused when these cannot be published, since it would be lost for as long as that lasts.
 */
function throttled(
  current: Task,
  publication: Publication,
  { perMs }: NonNullable<PublishRequest['throttle']>,
  now: number,
): PublishDecision {
  if (current.state === 'open' || now < current.createdAt + perMs) return UNCHANGED
  const again = startOver(current, publication, {}, now)
  return again.ok || current.unpublished ? asCreated(again) : UNCHANGED
}

function asCreated(decision: PublishDecision): PublishDecision {
  return decision.ok && decision.change ? { ...decision, created: true } : decision
}

/** Why a request cannot be published, whatever task has its key. */
export type PublishRefusal =
  /** `unknown`: the types that are not registered, of the task itself or of its callbacks, and where the request names them. */
  | {
      readonly ok: false
      readonly reason: 'unknown-type'
      readonly unknown: readonly UnknownType[]
      readonly existing: readonly string[]
    }
  | { readonly ok: false; readonly reason: 'invalid'; readonly problems: readonly FieldProblem[] }

type Outcome = { readonly ok: boolean; readonly reason?: string }

/** The refusal of a request with these problems. Unknown types come first, because other problems may follow from them. */
export function refusalOf({
  problems = [],
  unknown,
}: {
  readonly problems?: readonly FieldProblem[]
  readonly unknown: readonly UnknownType[]
}): PublishRefusal {
  if (unknown.length > 0) return { ok: false, reason: 'unknown-type', unknown, existing: [] }
  return { ok: false, reason: 'invalid', problems }
}

/** Adds the registered types to refusals of unknown types. They are listed once for all outcomes. */
export async function withRegisteredTypes<One extends Outcome>(
  system: System,
  outcomes: readonly One[],
): Promise<One[]> {
  if (!outcomes.some(isUnknown)) return [...outcomes]
  const existing = await registeredNames(system)
  return outcomes.map(outcome => (isUnknown(outcome) ? { ...outcome, existing } : outcome))
}

function isUnknown({ ok, reason }: Outcome): boolean {
  return !ok && reason === 'unknown-type'
}

type PreparedPublishes =
  | { readonly ok: true; readonly changes: ReadonlyArray<Change<Task>> }
  /** `index`: the first request that is refused. */
  | { readonly ok: false; readonly index: number; readonly refusal: PublishRefusal }

/**
 * Prepares publishes that the caller writes itself, within a transaction of its own. Each change creates its task, with the guard
 * `absent`. This function writes none of the heads. It writes only what a task relies on and what is harmless without the task:
 *
 * - the mark of a type that its tasks have tenants, once for each type;
 * - the turn of a tenant. It is lost when the transaction is cancelled.
 *
 * Nothing is written when a request is refused.
 */
export async function preparePublishes(
  system: System,
  requests: readonly PublishRequest[],
): Promise<PreparedPublishes> {
  const typeOf = batchTypeReader(system)
  const context = { ...system, typeOf }
  const resolved = await Promise.all(requests.map(request => resolveRequest(context, request)))
  const index = resolved.findIndex(one => !one.ok)
  const refused = resolved.flatMap(one => (one.ok ? [] : [refusalOf(one)])).slice(0, 1)
  const [refusal] = await withRegisteredTypes(system, refused)
  if (refusal) return { ok: false, index, refusal }
  const drafts = resolved.flatMap(one => (one.ok ? [one.publication] : []))
  const changes = await Promise.all(
    drafts.map((draft, nth) => changeOf(system, typeOf, draft, requests[nth]?.traceparent)),
  )
  return { ok: true, changes }
}

async function changeOf(
  system: System,
  typeOf: TypeReader,
  draft: PublicationDraft,
  parent: string | undefined,
): Promise<Change<Task>> {
  return inPublishSpan(draft.type, parent, async (traceparent, span) => {
    const type = draft.fairnessKey === undefined ? undefined : await typeOf(draft.type)
    if (type) await markFair(system, typeOf, type)
    const publication = withNewBirth(system, { ...draft, ...defined({ traceparent }) })
    const change = create(publication, undefined, system.clock.now())
    span.setAttributes({ 'baton.task.id': change.after.id })
    return preparedChange(system, change)
  })
}
