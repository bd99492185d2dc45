import { type Operator, withRecorded } from '../../core/change/change.ts'
import { BatonError } from '../../core/errors.ts'
import {
  shardsOf,
  type TaskType,
  type TypeConfiguration,
  type Unapplied,
  unappliedBy,
} from '../../core/types/task-type.ts'
import { defined } from '../../core/values/json.ts'
import type { TypeStore } from '../../ports/stores.ts'
import type { System } from '../kernel/system.ts'

/** Each lost round means that another process changed the type. This many in a row mean that something is wrong. */
const ROUNDS_MAX = 20

/**
 * The fields that a change sets, and the operator that asked for it. Fields that are not named here stay or follow
 * from the others. Purges and unapplied changes stay if they are not given.
 */
export type TypeChange = Pick<
  TaskType,
  'configuration' | 'handlerSince' | 'servedBy' | 'handlerVersion' | 'purges'
> &
  Partial<Pick<TaskType, 'paused' | 'isFair' | 'unapplied'>> & { readonly operator?: Operator | undefined }

/** The type before and after the change; `after` is undefined when there was nothing to change. */
export type ChangedType = { readonly before: TaskType | undefined; readonly after: TaskType | undefined }

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
    purges = before?.purges ?? [],
    paused = before?.paused ?? false,
    isFair,
    unapplied,
  }: TypeChange,
  now: number,
): TaskType {
  const left = leftToApply(before, { configuration, ...(unapplied && { unapplied }) })
  return {
    type,
    configuration: before ? withoutShrinking(configuration, before.configuration) : configuration,
    paused,
    ...((isFair ?? before?.isFair) && { isFair: true as const }),
    ...((before?.wasFlow || before?.configuration.kind === 'flow') && { wasFlow: true as const }),
    ...defined({ handlerSince, servedBy, handlerVersion }),
    ...(purges.length > 0 && { purges }),
    ...(left.length > 0 && { unapplied: left }),
    version: (before?.version ?? 0) + 1,
    createdAt: before?.createdAt ?? now,
    updatedAt: now,
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
