import { type Expected, isStale } from '../../core/change.ts'
import { unknownTypeProblem } from '../../core/rules/rules.ts'
import type { TypeKind } from '../../core/states.ts'
import { shardsOf, type TaskType, type TypeConfiguration } from '../../core/types/task-type.ts'
import { webhookInputProblems } from '../../core/types/webhook.ts'
import { compareTexts, type FieldProblem } from '../../core/values/values.ts'
import { sideBySide } from '../kernel/heads.ts'
import type { System } from '../kernel/system.ts'
import { applyTypeChange, changeType, flowsWithStepsOf, startJob } from './change-type.ts'
import { withStoredSchema } from './input-schemas.ts'
import { batchTypeReader, forgetType, PAUSE_ACK_MS } from './type-cache.ts'

/**
 * A task type has a configuration, and may be paused. This room registers, changes, pauses and resumes types, and
 * starts the jobs that apply a change to waiting tasks.
 *
 * This file sets a configuration, through the API or by a deployment, and pauses and resumes. It writes through
 * `change-type.ts`, which then starts the jobs that apply new limits and a new order to waiting tasks. Each process
 * remembers a type for one second (`type-cache.ts`), so a change reaches every claim within that time.
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
 * Creates the type or replaces its configuration. Everything else stays: whether the type is paused, and the time since which it has a
 * handler. If limits have changed, this returns only after 1.5 s (`PAUSE_ACK_MS`), when every claim obeys them. It does not wait for other
 * changes, such as a new order: they reach every process within a second. Jobs then update the waiting tasks.
 *
 * A configuration without shards keeps the present number (`changeType`), and one with fewer is refused. A deployed type, also a flow,
 * cannot change its kind, since its queue and its function would serve nothing. Each step of a flow must name an existing type that is not
 * a flow.
 */
export async function putType(
  system: Pick<System, 'types' | 'clock' | 'messages' | 'operator' | 'records'>,
  name: string,
  given: TypeConfiguration,
  expected: Expected = {},
): Promise<PutTypeOutcome> {
  const problems = await stepProblems(system, name, given)
  if (problems.length > 0) return { ok: false, reason: 'invalid', problems }
  const configuration = await withStoredSchema(system, given)
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
export async function registeredNames(system: Pick<System, 'types'>): Promise<string[]> {
  return (await allTypes(system)).map(({ type }) => type)
}

/** All types, by their names. */
export async function allTypes({ types }: Pick<System, 'types'>): Promise<TaskType[]> {
  return [...(await types.list())].sort((a, b) => compareTexts(a.type, b.type))
}

/** An index may show a waiting task late, so a second pass follows after this time. */
const SECOND_PASS_S = 5

export type PauseOutcome =
  | { readonly ok: true; readonly type: TaskType }
  | { readonly ok: false; readonly reason: 'unknown' }
  /** A person has changed the type since the caller read it. */
  | { readonly ok: false; readonly reason: 'stale'; readonly type: TaskType }

/** Pauses a type; returns when no task of it can start any more. Runs continue. */
export async function pauseType(
  system: System,
  name: string,
  expected: Expected = {},
): Promise<PauseOutcome> {
  const outcome = await setPaused(system, name, true, expected)
  if (!outcome.ok) return outcome
  // A repeated pause waits as well: the caller may repeat it because the first answer was lost.
  await system.clock.sleep(PAUSE_ACK_MS)
  return outcome
}

/** Ends a pause: waiting tasks are sent to their workers again, in order. */
export async function resumeType(
  system: System,
  name: string,
  expected: Expected = {},
): Promise<PauseOutcome> {
  const outcome = await setPaused(system, name, false, expected)
  if (!outcome.ok) return outcome
  const resumed = outcome.type
  // A worker that still knows the pause would drop what is sent.
  await system.clock.sleep(PAUSE_ACK_MS)
  for (const type of [resumed, ...(await flowsWithStepsOf(system, name))]) {
    await startJob(system, type, { kind: 'resume' })
    await startJob(system, type, { kind: 'resume' }, SECOND_PASS_S)
  }
  return outcome
}

async function setPaused(
  system: System,
  name: string,
  paused: boolean,
  expected: Expected,
): Promise<PauseOutcome> {
  const { before, after } = await changeType(system, name, stored =>
    stored && stored.paused !== paused && !isStale(stored, expected)
      ? { ...stored, paused, operator: system.operator }
      : undefined,
  )
  forgetType(system, name)
  if (!before) return { ok: false, reason: 'unknown' }
  if (isStale(before, expected)) return { ok: false, reason: 'stale', type: before }
  return { ok: true, type: after ?? before }
}

type RegistrarSystem = Pick<System, 'types' | 'clock' | 'messages' | 'records'>

/**
 * Registers a type whose handler, or whose queue for workers, was deployed. Its configuration is the deployed
 * one from now on. `paused` stays as it is.
 */
export async function registerHandlerType(
  system: RegistrarSystem,
  type: string,
  given: TypeConfiguration,
  {
    servedBy,
    version,
  }: { readonly servedBy?: 'workers' | undefined; readonly version?: string | undefined } = {},
): Promise<void> {
  const configuration = await withStoredSchema(system, given)
  const changed = await changeType(system, type, () => ({
    configuration,
    handlerSince: system.clock.now(),
    ...(servedBy && { servedBy }),
    ...(version !== undefined && { handlerVersion: version }),
  }))
  await applyTypeChange(system, changed)
}

/**
 * Registers a deployed flow. Its steps serve it, so the flow itself has no handler, and an earlier handler of its type no longer serves it.
 */
export async function registerFlowType(
  system: RegistrarSystem,
  type: string,
  given: TypeConfiguration,
): Promise<void> {
  const configuration = await withStoredSchema(system, given)
  await applyTypeChange(system, await changeType(system, type, () => ({ configuration, servedBy: 'steps' })))
}

/** Binds a type to other types, or frees it. A type that is not registered is registered with kind `http`, so that its first task is bound. */
export async function bindType(
  system: RegistrarSystem,
  type: string,
  otherTypes?: readonly string[],
): Promise<void> {
  const changed = await changeType(system, type, stored => {
    if (JSON.stringify(stored?.otherTypes) === JSON.stringify(otherTypes)) return undefined
    const configuration = { kind: 'http' as const, defaults: {} }
    const bound = { configuration, ...stored, otherTypes: otherTypes ?? 'any' } as const
    // Flows whose step was not allowed wait without a dispatch.
    return stored?.otherTypes ? { ...bound, unapplied: [...(stored.unapplied ?? []), 'resume'] } : bound
  })
  await applyTypeChange(system, changed)
}

/**
 * Removes the handler of a type: its tasks wait visibly until a handler is deployed. A removed flow stays registered, as
 * every type does. An unknown type stays unknown. A deployment that makes a flow of a type, or ends that, removes the former
 * resource last; its `kind` shows that the present one stays.
 */
export async function removeHandler(
  system: RegistrarSystem,
  type: string,
  kind: TypeKind = 'handler',
): Promise<void> {
  await changeType(system, type, stored => {
    const isPresent = (stored?.configuration.kind === 'flow') === (kind === 'flow')
    return stored && isPresent ? { configuration: stored.configuration } : undefined
  })
}
