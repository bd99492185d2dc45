import * as z from 'zod'
import { count, optional, pageOf, shownTime } from './scalars.ts'
import type { TypeOf } from './type-of.ts'

const workerAnswer = z
  .object({
    id: z.string(),
    kind: z.enum(['standalone', 'http', 'lambda']),
    version: optional(z.string()),
    types: z.array(z.string()),
    /** How many tasks the worker runs. */
    running: count.describe('How many tasks the worker runs.'),
    lastSeen: optional(shownTime),
  })
  .meta({ id: 'Worker' })

/** A live worker. The Lambda workers of a type are shown as one, without `lastSeen`. */
export type ApiWorker = TypeOf<typeof workerAnswer>

export const workerPage = pageOf(workerAnswer)
