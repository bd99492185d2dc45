import type { LimitChange } from '../../../core/limits/line.ts'
import type { AttributeValue } from '../attribute-values.ts'
import {
  FREED_ATTRIBUTE,
  limitOfSlots,
  NOTED_ATTRIBUTE,
  PERMITS_SORT_KEY,
  SLOTS_SORT_KEY,
  shardOfPermits,
} from '../keys.ts'
import { lineOfKey } from './limit-requests.ts'

type Image = Readonly<Record<string, AttributeValue>>

/**
 * What the last write of a limit's item tells the planner: a run gave a permit back (`freed`), claims gave slots back (`returned`), or a
 * process noted that tasks wait in a line (`noted`). `image` is an image of the table's stream. Undefined for all other items and writes.
 */
export function limitChangeIn(image: Image): LimitChange | undefined {
  const { pk, sk } = { pk: image.pk?.S ?? '', sk: image.sk?.S }
  const noted = image[NOTED_ATTRIBUTE]?.N
  if (noted !== undefined) return { kind: 'noted', line: lineOfKey({ pk, sk }), lookAt: Number(noted) }
  const freed = image[FREED_ATTRIBUTE]?.N
  if (freed === undefined) return undefined
  if (sk === SLOTS_SORT_KEY)
    return { kind: 'returned', line: { kind: 'slot', limit: limitOfSlots(pk) }, slots: Number(freed) }
  return sk === PERMITS_SORT_KEY ? { kind: 'freed', ...shardOfPermits(pk) } : undefined
}
