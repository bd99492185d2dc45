import { type Operator, withRecorded } from '../../core/change.ts'
import { followTypes, type PresentTypes, typesFollowed } from '../../core/operate/follow-types.ts'
import { rangesOfPurge } from '../../core/operate/operate.ts'
import type { View } from '../../core/task/head-fields.ts'
import type { Task } from '../../core/task/task.ts'
import type { TaskType, TypeConfiguration, TypeJob, Unapplied } from '../../core/types/task-type.ts'
import { shardNumbers, shardsOf, stepTypes, unappliedBy } from '../../core/types/task-type.ts'
import { BatonError, defined } from '../../core/values/values.ts'
import type { TypeStore } from '../../ports/stores.ts'
import { isolateEach, sideBySide } from '../kernel/heads.ts'
import { transactBirth } from '../kernel/kernel.ts'
import type { System } from '../kernel/system.ts'
import { NOTHING_SWEPT, type SweepReport, sweepEach } from '../repair.ts'
import { batchTypeReader, forgetType, PAUSE_ACK_MS } from './type-cache.ts'

/** Each lost round means that another process changed the type. This many in a row mean that something is wrong. */
const ROUNDS_MAX = 20

/**
 * The fields that a change sets, and the operator that asked for it. Fields that are not named here stay or follow from the others. Purges,
 * bulk operations, unapplied changes and other types stay if they are not given. With `any` the type is not bound any more.
 */
type TypeChange = Pick<
  TaskType,
  'configuration' | 'handlerSince' | 'servedBy' | 'handlerVersion' | 'purges' | 'bulks' | 'lastBulks'
> &
  Partial<Pick<TaskType, 'paused' | 'isFair' | 'unapplied'>> & {
    readonly otherTypes?: TaskType['otherTypes'] | 'any'
    readonly operator?: Operator | undefined
  }

/** The type before and after the change; `after` is undefined when there was nothing to change. */
type ChangedType = { readonly before: TaskType | undefined; readonly after: TaskType | undefined }

/**
 * Creates or changes a type as `change` derives it from the stored one, and decides again when another process
 * was faster. The number of shards only grows, whatever `change` returns. Changed limits and a changed order
 * are recorded as unapplied in the same write.
 *
 * @throws BatonError `contended` after 20 lost rounds.
 */
export async function changeType(
  { types, clock }: Pick<System, 'types' | 'clock'>,
  name: string,
  change: (stored: TaskType | undefined) => TypeChange | undefined,
  write: TypeStore['put'] = types.put,
): Promise<ChangedType> {
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const before = await types.get(name)
    const changed = change(before)
    if (!changed) return { before, after: undefined }
    const after = withOperator(successor(name, before, changed, clock.now()), before, changed.operator)
    if (await write(after, before?.version ?? 0)) return { before, after }
  }
  throw new BatonError('contended', `type ${name} changed ${ROUNDS_MAX} times while being written`)
}

/** Adds a record of the operator that asked for the change, if one did. */
function withOperator(
  after: TaskType,
  before: TaskType | undefined,
  operator: Operator | undefined,
): TaskType {
  const { edits, operations } = before ?? {}
  if (!operator?.what) return { ...after, ...defined({ edits, operations }) }
  const { by, what } = operator
  return { ...after, ...withRecorded({ edits, operations }, { at: after.updatedAt, by, what }) }
}

function successor(
  type: string,
  before: TaskType | undefined,
  {
    configuration,
    handlerSince,
    servedBy,
    handlerVersion,
    paused = before?.paused ?? false,
    isFair,
    unapplied,
    otherTypes,
    ...given
  }: TypeChange,
  now: number,
): TaskType {
  const left = leftToApply(before, { configuration, ...(unapplied && { unapplied }) })
  return {
    type,
    configuration: before ? withoutShrinking(configuration, before.configuration) : configuration,
    paused,
    ...((isFair ?? before?.isFair) && { isFair: true as const }),
    ...defined({ handlerSince, servedBy, handlerVersion }),
    ...boundOf(before, { configuration, ...(otherTypes && { otherTypes }) }),
    ...jobsUnderWay({ ...before, ...defined(given) }),
    ...(left.length > 0 && { unapplied: left }),
    version: (before?.version ?? 0) + 1,
    createdAt: before?.createdAt ?? now,
    updatedAt: now,
  }
}

function jobsUnderWay({ purges = [], bulks = [], lastBulks = [] }: Partial<TypeChange>) {
  return {
    ...(purges.length > 0 && { purges }),
    ...(bulks.length > 0 && { bulks }),
    ...(lastBulks.length > 0 && { lastBulks }),
  }
}

/** What bounds the callbacks and steps of the type's tasks. Flows of a former configuration continue, so its steps stay allowed. */
function boundOf(
  before: TaskType | undefined,
  { configuration, otherTypes = before?.otherTypes ?? 'any' }: TypeChange,
): Pick<TaskType, 'wasFlow' | 'otherTypes' | 'formerSteps'> {
  const named = [...(before?.formerSteps ?? []), ...stepTypes(before?.configuration ?? {})]
  const formerSteps = [...new Set(named)].filter(step => !stepTypes(configuration).includes(step))
  return {
    ...((before?.wasFlow || before?.configuration.kind === 'flow') && { wasFlow: true as const }),
    ...(otherTypes !== 'any' && { otherTypes }),
    ...(formerSteps.length > 0 && { formerSteps }),
  }
}

function leftToApply(
  before: TaskType | undefined,
  { configuration, unapplied = before?.unapplied }: Pick<TypeChange, 'configuration' | 'unapplied'>,
): Unapplied[] {
  const changed = before ? unappliedBy(before.configuration, configuration) : []
  return [...new Set([...(unapplied ?? []), ...changed])]
}

/** Keeps the number of shards from shrinking: entries in the higher shards must stay readable. */
function withoutShrinking(configuration: TypeConfiguration, before: TypeConfiguration): TypeConfiguration {
  const shards = shardsOf(before)
  return shardsOf(configuration) < shards ? { ...configuration, shards } : configuration
}

/** A bucket of the type's view, and the sort keys between which a job works on its tasks. */
export type JobRange = { readonly bucket: View['bucket']; readonly from?: number; readonly to?: number }

/** The tasks of its type that a job works on. A resume leaves out tasks that are not due yet, since their messages are still to come. */
export function jobRanges(job: TypeJob, now: number): readonly JobRange[] {
  switch (job.kind) {
    case 'resume':
    case 'relimit':
      return [{ bucket: 'open', to: now }, { bucket: 'compensating' }]
    case 'reorder':
      return [{ bucket: 'open' }, { bucket: 'compensating' }]
    case 'purge':
      return rangesOfPurge(job)
    case 'bulk':
      return []
  }
}

/**
 * Starts a job on the tasks of a type: the jobs function works through each partition of their view on its own.
 *
 * @throws BatonError `unavailable` when a message could not be sent; starting the job again does no harm.
 */
export async function startJob(
  { messages, clock }: Pick<System, 'messages' | 'clock'>,
  type: TaskType,
  job: TypeJob,
  delaySeconds = 0,
): Promise<void> {
  const looks = shardNumbers(type).flatMap(shard =>
    jobRanges(job, clock.now()).map(({ bucket }) => ({ type: type.type, job, bucket, shard, delaySeconds })),
  )
  await throwIfUnsent(messages.continueJobs(looks), job)
}

/** Waits until the messages of a job are sent, and throws when one was not. */
export async function throwIfUnsent(
  sending: ReturnType<System['messages']['continueJobs']>,
  { kind }: TypeJob,
): Promise<void> {
  const [failure] = await sending
  if (!failure) return
  const message = `a message of the job ${kind} could not be sent: ${failure.reason}`
  throw failure.transient ? new BatonError('unavailable', message) : new Error(message)
}

type Jobs = Pick<System, 'types' | 'messages' | 'clock'>

/** After this time, the process that changed the type has applied the change or has died. */
const SILENT_MS = 60_000
/** A second pass finds tasks that the index showed late, and tasks that another process sorted at the same time by an older order. */
const SECOND_PASS_S = 5

/**
 * Starts the jobs that apply changed limits, and a changed kind or order, to open tasks of the type and to flows with steps of the type.
 * When this returns, every claim obeys the changed limits; a changed kind or order reaches every process within a second. The jobs look at
 * the lines of the changed limits, and give all tasks the present kind and order. What is not done here stays listed in the type: the next
 * change of the configuration applies it, or the sweeper does.
 */
export async function applyTypeChange(system: Jobs, { after }: ChangedType): Promise<void> {
  if (!after) return
  forgetType(system, after.type)
  // After this wait every claim knows the new limits.
  if (after.unapplied?.includes('relimit')) await system.clock.sleep(PAUSE_ACK_MS)
  await apply(system, after)
}

/** Applies changes of types whose own process did not finish. */
export async function sweepTypeChanges(
  system: Pick<System, 'types' | 'messages' | 'clock' | 'log'>,
  types: readonly TaskType[],
): Promise<SweepReport> {
  const now = system.clock.now()
  const unfinished = types.filter(({ unapplied, updatedAt }) => unapplied && updatedAt + SILENT_MS <= now)
  return sweepEach(
    unfinished,
    unfinished.length,
    async type => {
      await apply(system, type)
      return { ...NOTHING_SWEPT, repaired: 1 }
    },
    ({ type }, error) => system.log.error('a change of a type was not applied', { type, error }),
  )
}

async function apply(system: Jobs, type: TaskType): Promise<void> {
  const { unapplied = [] } = type
  if (unapplied.length === 0) return
  if (unapplied.includes('relimit')) {
    const looks = (['slot', 'permit'] as const).map(kind => ({
      line: { kind, limit: type.type },
      delaySeconds: 0,
    }))
    await throwIfUnsent(system.messages.lookAtLimits(looks), { kind: 'relimit' })
  }
  for (const one of [type, ...(await flowsWithStepsOf(system, type.type))]) {
    for (const kind of unapplied) await startJob(system, one, { kind })
    if (unapplied.includes('reorder')) await startJob(system, one, { kind: 'reorder' }, SECOND_PASS_S)
  }
  // A process that has changed the type since applies everything that is left.
  await changeType(system, type.type, stored =>
    stored?.version === type.version ? { ...stored, unapplied: [] } : undefined,
  )
}

const READS_AT_ONCE_MAX = 25
const CHANGES_AT_ONCE_MAX = 25

/** Brings the tasks to the present kinds and orders of their types, which it reads again, because they may have changed meanwhile. */
export async function followPresentTypes(system: System, tasks: readonly Task[]): Promise<void> {
  const names = [...new Set(tasks.flatMap(typesFollowed))]
  const found = await sideBySide(names, READS_AT_ONCE_MAX, batchTypeReader(system))
  const types = new Map(found.flatMap(type => (type ? [[type.type, type]] : [])))
  await followEach(system, tasks, types)
}

/** Brings the tasks to these types. Each is decided on as it is now, but never another birth. Returns how many had to change. */
export async function followEach(
  system: System,
  tasks: readonly Task[],
  types: PresentTypes,
): Promise<number> {
  const judged = await isolateEach(system, tasks, CHANGES_AT_ONCE_MAX, async task =>
    followTypes(task, types, system.clock.now()).ok ? [task] : [],
  )
  const outdated = judged.flat()
  await isolateEach(system, outdated, CHANGES_AT_ONCE_MAX, seen =>
    transactBirth(system, seen, task => followTypes(task, types, system.clock.now())),
  )
  return outdated.length
}

/** The flow types with steps of a type: tasks of a flow are in the index of the flow's own type, whichever types do their steps. */
export async function flowsWithStepsOf({ types }: Pick<System, 'types'>, name: string): Promise<TaskType[]> {
  return (await types.list()).filter(({ configuration }) => stepTypes(configuration).includes(name))
}
