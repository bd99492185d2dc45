import type { Change } from '../../core/change/change.ts'
import { create } from '../../core/publish/publish.ts'
import type { Task } from '../../core/task/task.ts'
import type { TaskType } from '../../core/types/task-type.ts'
import { markFair } from '../fair/fair.ts'
import { preparedChange } from '../kernel/apply-change.ts'
import { inPublishSpan } from '../kernel/spans.ts'
import type { System } from '../kernel/system.ts'
import { batchTypeReader, type TypeReader } from '../types/type-cache.ts'
import { type PublishRefusal, refusalOf, withRegisteredTypes } from './decide-publish.ts'
import {
  type PublicationDraft,
  type PublishRequest,
  resolvePublication,
  withNewBirth,
} from './resolve-publication.ts'

export type PreparedPublishes =
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
  const resolved = await Promise.all(requests.map(request => resolve(system, typeOf, request)))
  const index = resolved.findIndex(one => !one.ok)
  const [refusal] = await withRegisteredTypes(system, resolved.filter(isRefusal).slice(0, 1))
  if (refusal) return { ok: false, index, refusal }
  const changes = await Promise.all(resolved.flatMap(one => (one.ok ? [changeOf(system, typeOf, one)] : [])))
  return { ok: true, changes }
}

type Resolved = {
  readonly ok: true
  readonly type: TaskType
  readonly request: PublishRequest
  readonly publication: PublicationDraft
}

function isRefusal(one: Resolved | PublishRefusal): one is PublishRefusal {
  return !one.ok
}

async function resolve(
  system: System,
  typeOf: TypeReader,
  request: PublishRequest,
): Promise<Resolved | PublishRefusal> {
  const type = await typeOf(request.type)
  if (!type) return refusalOf({ unknown: [{ type: request.type, path: 'type' }] })
  const resolved = await resolvePublication({ ...system, typeOf }, type, request)
  return resolved.ok ? { ok: true, type, request, publication: resolved.publication } : refusalOf(resolved)
}

function changeOf(
  system: System,
  typeOf: TypeReader,
  { type, request, publication }: Resolved,
): Promise<Change<Task>> {
  return inPublishSpan(type.type, request.traceparent, async (traceparent, span) => {
    if (request.fairnessKey !== undefined) await markFair(system, typeOf, type)
    const traced = { ...publication, ...(traceparent !== undefined && { traceparent }) }
    const change = create(withNewBirth(system, traced), undefined, system.clock.now())
    span.setAttributes({ 'baton.task.id': change.after.id })
    return preparedChange(system, change)
  })
}
