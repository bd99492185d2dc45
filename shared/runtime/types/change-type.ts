import { type Operator, withRecord } from '../../core/change/operations.ts'
import { BatonError } from '../../core/errors.ts'
import {
  shardsOf,
  type TaskType,
  type TypeConfiguration,
  type Unapplied,
  unappliedBy,
} from '../../core/types/task-type.ts'
import type { TypeStore } from '../../ports/stores.ts'
import { given } from '../kernel/given.ts'
import type { System } from '../kernel/system.ts'

/** Each lost round means that somebody else changed the type; this many in a row mean something is wrong. */
const MAX_ROUNDS = 20

/** What may be set of a type, and for whom; the rest of it stays or follows. Purges, and what is unapplied, stay if not given. */
export type TypeChange = Pick<
  TaskType,
  'configuration' | 'handlerSince' | 'servedBy' | 'handlerVersion' | 'purges'
> &
  Partial<Pick<TaskType, 'paused' | 'isFair' | 'unapplied'>> & { readonly operator?: Operator | undefined }

/** The type before and after; `after` is undefined when there was nothing to change. */
export type ChangedType = { readonly before: TaskType | undefined; readonly after: TaskType | undefined }

/**
 * Creates or changes a type as `change` says of the stored one, and decides again when somebody else was quicker.
 * Shards only grow, whatever it says. Limits and an order that change are noted as unapplied in the same write.
 *
 * @throws BatonError `contended` after 20 lost rounds.
 */
export async function changeType(
  { types, clock }: Pick<System, 'types' | 'clock'>,
  name: string,
  change: (stored: TaskType | undefined) => TypeChange | undefined,
  write: TypeStore['put'] = types.put,
): Promise<ChangedType> {
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const before = await types.get(name)
    const changed = change(before)
    if (!changed) return { before, after: undefined }
    const after = noted(successor(name, before, changed, clock.now()), before, changed.operator)
    if (await write(after, before?.version ?? 0)) return { before, after }
  }
  throw new BatonError('contended', `type ${name} changed ${MAX_ROUNDS} times while being written`)
}

/** With a record of the person that asked for the change, if one did. */
function noted(after: TaskType, before: TaskType | undefined, operator: Operator | undefined): TaskType {
  const { operations } = before ?? {}
  if (!operator?.what) return { ...after, ...(operations && { operations }) }
  const { by, what } = operator
  return { ...after, operations: withRecord(operations, { at: after.updatedAt, by, what }) }
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
    ...given({ handlerSince, servedBy, handlerVersion }),
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

/** Entries in the higher shards must stay readable. */
function withoutShrinking(configuration: TypeConfiguration, before: TypeConfiguration): TypeConfiguration {
  const shards = shardsOf(before)
  return shardsOf(configuration) < shards ? { ...configuration, shards } : configuration
}
