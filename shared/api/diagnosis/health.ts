import { anything, open, recordOf } from '../../core/rules/compound.ts'
import type { ValueOf } from '../../core/rules/rules.ts'
import { literal, text } from '../../core/rules/scalars.ts'

/** Answers of the API about itself. */

/** That the API answers. */
export const healthAnswer = open(
  {
    /** Whether the API answers. The local system answers 503 while one of its parts is down. */
    status: literal('ok'),
    /** The version of Baton that serves the API, such as `1.4.2`. */
    version: text(),
  },
  'Health',
)

export type HealthAnswer = ValueOf<typeof healthAnswer>

/** An OpenAPI 3.1 document. */
export const descriptionAnswer = recordOf(anything())
