import * as z from 'zod'
import { ERROR_CAUSES_MAX, RUN_LOG_BYTES_MAX } from '../../../shared/core/bounds.ts'
import { optional, strict } from './scalars.ts'

const shownCause = z.object({ name: z.string(), message: z.string() })

/** Why something failed, as answers show it. */
export const error = z
  .object({ ...shownCause.shape, stack: optional(z.string()), causes: optional(z.array(shownCause)) })
  .meta({ id: 'TaskError' })

const cause = { name: z.string().min(1), message: z.string() }

/** Why a run failed, as its worker says it. What is too long is cut, not refused. */
export const givenError = strict({
  ...cause,
  stack: optional(z.string()),
  causes: optional(z.array(strict(cause)).max(ERROR_CAUSES_MAX)),
})

/** What a failed run logged; its length is checked where the word is said. */
export const givenLog = z
  .string()
  .meta({ description: `The last that the run logged, at most ${RUN_LOG_BYTES_MAX} bytes in UTF-8` })
