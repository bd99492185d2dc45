import * as z from 'zod'

/** Answers of the API about itself. */

/** That the API answers. */
export const healthAnswer = z
  .object({
    /** Whether the API answers. The local system answers 503 while one of its parts is down. */
    status: z.literal('ok'),
  })
  .meta({ id: 'Health' })

/** An OpenAPI 3.1 document. */
export const descriptionAnswer = z.record(z.string(), z.unknown())
