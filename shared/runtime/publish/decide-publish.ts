import type { Change } from '../../core/change/change.ts'
import { restart } from '../../core/operate/restart.ts'
import { create, isGone, type Publication } from '../../core/publish/publish.ts'
import { update } from '../../core/publish/update.ts'
import { liveRuns, type Task } from '../../core/task/task.ts'
import type { PublishRequest } from './publication-of.ts'

/** What a publish comes to where `current` stands under its key; not `ok`: that is at work and in the way. */
export type PublishDecision =
  | { readonly ok: true; readonly created: boolean; readonly change?: Change }
  | { readonly ok: false; readonly change?: undefined }

const UNCHANGED: PublishDecision = { ok: true, created: false }

export function decidePublish(
  current: Task | undefined,
  publication: Publication,
  request: PublishRequest,
  now: number,
): PublishDecision {
  const { ifExists = 'keep', once, debounce, throttle } = request
  if (current && once) return UNCHANGED
  if (!current || isGone(current, now)) {
    return { ok: true, created: true, change: create(publication, current, now) }
  }
  if (debounce) return debounced(current, publication, debounce, now)
  if (throttle) return throttled(current, publication, throttle, now)
  switch (ifExists) {
    case 'keep':
      return UNCHANGED
    case 'update':
      return changed(update(current, publication, now))
    case 'reject':
      return liveRuns(current).length > 0 ? { ok: false } : UNCHANGED
    case 'restart':
      return startOver(current, publication, request, now)
  }
}

/** Refused while a flow is between two of its steps, too, and while callbacks of its end are still to be published. */
function startOver(
  current: Task,
  publication: Publication,
  { clean = ['failed', 'succeeded'] }: Pick<PublishRequest, 'clean'>,
  now: number,
): PublishDecision {
  const decision = restart(current, { publication, clean, keepInput: false, evenWaiting: true }, now)
  const isBusy = !decision.ok && (decision.reason === 'running' || decision.reason === 'owes')
  return isBusy ? { ok: false } : changed(decision)
}

function changed(decision: { ok: true; change: Change } | { ok: false }): PublishDecision {
  return decision.ok ? { ok: true, created: false, change: decision.change } : UNCHANGED
}

/**
 * What waits takes the new body, and waits anew: at most `maxWaitMs` after its first publish, so that it cannot be put
 * off for ever. What has ended starts over; what runs is in the way, and so is what somebody published under the key of a
 * successor.
 */
function debounced(
  current: Task,
  publication: Publication,
  { ms, maxWaitMs }: NonNullable<PublishRequest['debounce']>,
  now: number,
): PublishDecision {
  if (publication.parentId !== undefined && !isDebounceSuccessor(current, publication.parentId))
    return { ok: false }
  if (current.state !== 'open') return begunAnew(startOver(current, publication, {}, now))
  const latest = maxWaitMs === undefined ? Number.POSITIVE_INFINITY : current.createdAt + maxWaitMs
  const dueAt = Math.max(now, Math.min(now + ms, latest))
  const updated = update(current, { ...publication, dueAt }, now)
  return updated.ok ? changed(updated) : { ok: false }
}

/** Whether a task was published while the one it follows, of the debounced key itself, was running. */
export function isDebounceSuccessor({ parentId }: Task, followed: string): boolean {
  return parentId === followed
}

/** The first one of a window counts; while it is at work, the window goes on. */
function throttled(
  current: Task,
  publication: Publication,
  { perMs }: NonNullable<PublishRequest['throttle']>,
  now: number,
): PublishDecision {
  if (current.state === 'open' || now < current.createdAt + perMs) return UNCHANGED
  const again = startOver(current, publication, {}, now)
  return again.ok ? begunAnew(again) : UNCHANGED
}

function begunAnew(decision: PublishDecision): PublishDecision {
  return decision.ok && decision.change ? { ...decision, created: true } : decision
}
