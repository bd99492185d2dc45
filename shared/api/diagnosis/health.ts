import * as z from 'zod'
import type { TypeOf } from '../type-of.ts'

/** Answers of the API about itself. */

/** That the API answers. */
export const healthAnswer = z
  .object({
    /** Whether the API answers. The local system answers 503 while one of its parts is down. */
    status: z.literal('ok'),
    /** The version of Baton that serves the API, such as `1.4.2`. */
    version: z.string(),
  })
  .meta({ id: 'Health' })

export type HealthAnswer = TypeOf<typeof healthAnswer>

/** An OpenAPI 3.1 document. */
export const descriptionAnswer = z.record(z.string(), z.unknown())
