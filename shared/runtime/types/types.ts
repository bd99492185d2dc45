/**
 * A task type has a configuration, and may be paused. This room registers, changes, pauses and resumes types, and
 * starts the jobs that apply a change to tasks that wait. Each process remembers a type for one second (`type-
 * cache.ts`), so a change reaches every claim within that time.
 */
import type { FieldProblem } from '../../core/errors.ts'
import { unknownTypeProblem } from '../../core/rules/nearest.ts'
import type { TypeKind } from '../../core/task/task.ts'
import { shardsOf, type TaskType, type TypeConfiguration } from '../../core/types/task-type.ts'
import { webhookInputProblems } from '../../core/types/webhook-url.ts'
import { sideBySide } from '../kernel/side-by-side.ts'
import type { System } from '../kernel/system.ts'
import { applyTypeChange } from './apply-type-change.ts'
import { changeType } from './change-type.ts'
import { batchTypeReader } from './type-cache.ts'

const MOST_READS_AT_ONCE = 25

export type PutTypeOutcome =
  | { readonly ok: true; readonly created: boolean; readonly type: TaskType }
  | { readonly ok: false; readonly reason: 'fewer-shards'; readonly shards: number }
  /** The type is deployed as of another kind. */
  | { readonly ok: false; readonly reason: 'deployed-kind'; readonly kind: TypeKind }
  | { readonly ok: false; readonly reason: 'invalid'; readonly problems: readonly FieldProblem[] }

/**
 * Creates the type or replaces its configuration; what is not configuration (paused, since when it has a handler)
 * stays. Limits and order hold at once. A configuration that says nothing of shards keeps those there are; one that asks
 * for fewer is refused. So is another kind of a type that is deployed: its queue and its function would serve nothing, and
 * steps of a flow that are no types that could be served.
 */
export async function putType(
  system: Pick<System, 'types' | 'clock' | 'messages' | 'operator'>,
  name: string,
  configuration: TypeConfiguration,
): Promise<PutTypeOutcome> {
  const problems = await stepProblems(system, name, configuration)
  if (problems.length > 0) return { ok: false, reason: 'invalid', problems }
  const changed = await changeType(system, name, stored =>
    refusalOf(configuration, stored) ? undefined : { ...stored, configuration, operator: system.operator },
  )
  const { before, after } = changed
  await applyTypeChange(system, changed)
  if (after) return { ok: true, created: !before, type: after }
  return refusalOf(configuration, before) ?? { ok: false, reason: 'fewer-shards', shards: shardCount(before) }
}

function refusalOf(
  configuration: TypeConfiguration,
  stored: TaskType | undefined,
): Exclude<PutTypeOutcome, { ok: true }> | undefined {
  if (!stored) return undefined
  const { kind } = stored.configuration
  const isDeployed = stored.handlerSince !== undefined
  if (isDeployed && kind !== configuration.kind) return { ok: false, reason: 'deployed-kind', kind }
  const isShrinking = configuration.shards !== undefined && configuration.shards < shardCount(stored)
  return isShrinking ? { ok: false, reason: 'fewer-shards', shards: shardCount(stored) } : undefined
}

function shardCount(stored: TaskType | undefined): number {
  return stored ? shardsOf(stored.configuration) : 0
}

/** Steps are done by types that exist and are no flows; their webhooks name no user. */
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
  const read = await sideBySide(actions, MOST_READS_AT_ONCE, async action => ({
    ...action,
    found: action.type === name ? configuration : (await typeOf(action.type))?.configuration,
  }))
  const existing = read.some(({ found }) => found === undefined)
    ? (await system.types.list()).map(({ type }) => type)
    : []
  return read.flatMap(({ at, type, input, found }) => {
    if (!found) return [{ path: `${at}.type`, message: unknownTypeProblem(type, existing) }]
    if (found.kind === 'flow') {
      return [{ path: `${at}.type`, message: `must name a type that is no flow, and '${type}' is one` }]
    }
    return webhookInputProblems(found, input).map(({ path, message }) => ({ path: `${at}.${path}`, message }))
  })
}
