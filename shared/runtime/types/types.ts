import { type Expected, isStale } from '../../core/change/change.ts'
import type { FieldProblem } from '../../core/errors.ts'
import { unknownTypeProblem } from '../../core/rules/rules.ts'
import type { TypeKind } from '../../core/states.ts'
import { shardsOf, type TaskType, type TypeConfiguration } from '../../core/types/task-type.ts'
import { webhookInputProblems } from '../../core/types/webhook.ts'
import { sideBySide } from '../kernel/side-by-side.ts'
import type { System } from '../kernel/system.ts'
import { applyTypeChange } from './apply-type-change.ts'
import { changeType } from './change-type.ts'
import { batchTypeReader } from './type-cache.ts'

/**
 * A task type has a configuration, and may be paused. This room registers, changes, pauses and resumes types, and
 * starts the jobs that apply a change to waiting tasks.
 *
 * This file sets a configuration through the API; `register-type.ts` does so for deployments. Both write through
 * `change-type.ts`; then `apply-type-change.ts` starts the jobs (`start-job.ts`) that apply new limits and a new
 * order to waiting tasks. `pause-type.ts` pauses and resumes. Each process remembers a type for one second
 * (`type-cache.ts`), so a change reaches every claim within that time.
 */

const READS_AT_ONCE_MAX = 25

export type PutTypeOutcome =
  | { readonly ok: true; readonly created: boolean; readonly type: TaskType }
  | { readonly ok: false; readonly reason: 'fewer-shards'; readonly shards: number }
  /** A person has changed the type since the caller read it. `type` is left out when none exists. */
  | { readonly ok: false; readonly reason: 'stale'; readonly type?: TaskType }
  /** The type is deployed with another kind. */
  | { readonly ok: false; readonly reason: 'deployed-kind'; readonly kind: TypeKind }
  | { readonly ok: false; readonly reason: 'invalid'; readonly problems: readonly FieldProblem[] }

/**
 * Creates the type or replaces its configuration. Everything else stays: whether the type is paused, and the time
 * since which it has a handler. If limits have changed, this returns only after 1.5 s (`PAUSE_ACK_MS`), when every claim obeys
 * them. It does not wait for other changes, such as a new order: they reach every process within a second. Jobs then update the
 * waiting tasks.
 *
 * A configuration without shards keeps the present number (`changeType`), and one with fewer is refused. A deployed type,
 * also a flow, cannot change its kind, since its queue and its function would serve nothing. Each step of a flow must name an
 * existing type that is not a flow.
 */
export async function putType(
  system: Pick<System, 'types' | 'clock' | 'messages' | 'operator'>,
  name: string,
  configuration: TypeConfiguration,
  expected: Expected = {},
): Promise<PutTypeOutcome> {
  const problems = await stepProblems(system, name, configuration)
  if (problems.length > 0) return { ok: false, reason: 'invalid', problems }
  const changed = await changeType(system, name, stored =>
    refusalOf(configuration, stored, expected)
      ? undefined
      : { ...stored, configuration, operator: system.operator },
  )
  const { before, after } = changed
  await applyTypeChange(system, changed)
  // Only a refusal leaves the type as it is, and it was decided on `before`.
  return after
    ? { ok: true, created: !before, type: after }
    : (refusalOf(configuration, before, expected) as Refusal)
}

type Refusal = Extract<PutTypeOutcome, { ok: false }>

function refusalOf(
  configuration: TypeConfiguration,
  stored: TaskType | undefined,
  expected: Expected,
): Refusal | undefined {
  if (isStale(stored, expected)) return { ok: false, reason: 'stale', ...(stored && { type: stored }) }
  if (!stored) return undefined
  const { kind } = stored.configuration
  const shards = shardsOf(stored.configuration)
  const isDeployed = stored.handlerSince !== undefined || stored.servedBy !== undefined
  if (isDeployed && kind !== configuration.kind) return { ok: false, reason: 'deployed-kind', kind }
  const isShrinking = configuration.shards !== undefined && configuration.shards < shards
  return isShrinking ? { ok: false, reason: 'fewer-shards', shards } : undefined
}

/** Finds steps that name a missing type or a flow, and steps whose webhook URL contains a user name. */
async function stepProblems(
  system: Pick<System, 'types' | 'clock'>,
  name: string,
  configuration: TypeConfiguration,
): Promise<FieldProblem[]> {
  const { kind, steps = [] } = configuration
  if (kind !== 'flow') return []
  const typeOf = batchTypeReader(system)
  const actions = steps.flatMap((step, index) => [
    { at: `steps.${index}.do`, ...step.do },
    ...(step.undo ? [{ at: `steps.${index}.undo`, ...step.undo }] : []),
  ])
  const read = await sideBySide(actions, READS_AT_ONCE_MAX, async action => ({
    ...action,
    found: action.type === name ? configuration : (await typeOf(action.type))?.configuration,
  }))
  const existing = read.some(({ found }) => found === undefined) ? await registeredNames(system) : []
  return read.flatMap(({ at, type, input, found }) => {
    if (!found) return [{ path: `${at}.type`, message: unknownTypeProblem(type, existing) }]
    if (found.kind === 'flow') {
      return [{ path: `${at}.type`, message: `must name a type that is not a flow; '${type}' is a flow` }]
    }
    return webhookInputProblems(found, input).map(({ path, message }) => ({ path: `${at}.${path}`, message }))
  })
}

/** The names of all registered types, sorted. The refusal of an unknown type shows them, so that its caller finds the right one. */
export async function registeredNames({ types }: Pick<System, 'types'>): Promise<string[]> {
  return (await types.list()).map(({ type }) => type).sort()
}
