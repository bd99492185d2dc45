import { shardsOf, type TaskType, type TypeConfiguration } from '../core/task-type.ts'
import { changeType } from './change-type.ts'
import { applyTypeChange } from './control/apply-type-change.ts'
import type { System } from './system.ts'

export type PutTypeOutcome =
  | { readonly ok: true; readonly created: boolean; readonly type: TaskType }
  | { readonly ok: false; readonly reason: 'fewer-shards'; readonly shards: number }

/**
 * Creates the type or replaces its configuration; what is not configuration (paused, since when it has a handler)
 * stays. Limits and order hold at once. A configuration that says nothing of shards keeps those there are; one that asks
 * for fewer is refused.
 */
export async function putType(
  system: Pick<System, 'types' | 'clock' | 'messages' | 'operator'>,
  name: string,
  configuration: TypeConfiguration,
): Promise<PutTypeOutcome> {
  const changed = await changeType(system, name, stored =>
    isShrinking(configuration, stored) ? undefined : { ...stored, configuration, operator: system.operator },
  )
  const { before, after } = changed
  await applyTypeChange(system, changed)
  if (after) return { ok: true, created: !before, type: after }
  return { ok: false, reason: 'fewer-shards', shards: shardCount(before) }
}

function isShrinking({ shards }: TypeConfiguration, stored: TaskType | undefined): boolean {
  return shards !== undefined && shards < shardCount(stored)
}

function shardCount(stored: TaskType | undefined): number {
  return stored ? shardsOf(stored.configuration) : 0
}
