import type { LimitChange } from '../../../core/limits/held-permits.ts'
import type { AttributeValue } from '../attribute-values.ts'
import {
  FREED_ATTRIBUTE,
  FREED_NO_WAITERS,
  limitOfPermits,
  NOTED_ATTRIBUTE,
  PERMITS_SORT_KEY,
} from '../keys.ts'

type Image = Readonly<Record<string, AttributeValue>>

/** What an image of the table's stream tells of a limit that tasks wait for; undefined for all other items and writes. */
export function limitChangeIn(image: Image): LimitChange | undefined {
  if (image.sk?.S !== PERMITS_SORT_KEY) return undefined
  const limit = limitOfPermits(image.pk?.S ?? '')
  const noted = image[NOTED_ATTRIBUTE]?.N
  if (noted !== undefined) return { kind: 'noted', limit, since: Number(noted) }
  const freed = image[FREED_ATTRIBUTE]?.N
  return freed === undefined || Number(freed) === FREED_NO_WAITERS ? undefined : { kind: 'freed', limit }
}
