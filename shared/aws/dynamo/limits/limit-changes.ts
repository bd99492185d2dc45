import type { LimitChange } from '../../../core/limits/held-permits.ts'
import type { AttributeValue } from '../attribute-values.ts'
import {
  FREED_ATTRIBUTE,
  FREED_NO_WAITERS,
  NOTED_ATTRIBUTE,
  PERMITS_SORT_KEY,
  shardOfPermits,
} from '../keys.ts'

type Image = Readonly<Record<string, AttributeValue>>

/**
 * What the last write of a concurrency limit's permits tells the planner: a run gave its permit back while tasks waited (`freed`),
 * or a process noted that tasks wait (`noted`). `image` is an image of the table's stream. Undefined for all other items and writes,
 * also for a permit that was given back while no task waited (`FREED_NO_WAITERS`).
 */
export function limitChangeIn(image: Image): LimitChange | undefined {
  if (image.sk?.S !== PERMITS_SORT_KEY) return undefined
  const permit = shardOfPermits(image.pk?.S ?? '')
  const noted = image[NOTED_ATTRIBUTE]?.N
  if (noted !== undefined) return { kind: 'noted', limit: permit.limit, since: Number(noted) }
  const freed = image[FREED_ATTRIBUTE]?.N
  return freed === undefined || Number(freed) === FREED_NO_WAITERS ? undefined : { kind: 'freed', ...permit }
}
