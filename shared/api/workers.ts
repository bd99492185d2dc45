import * as z from 'zod'
import { count, optional, pageOf, shownTime } from './scalars.ts'
import type { TypeOf } from './type-of.ts'

const workerAnswer = z
  .object({
    /** The id of the worker. */
    id: z.string(),
    /** How the worker works: a process with the library, a program over HTTP, or a Lambda function. */
    kind: z.enum(['standalone', 'http', 'lambda']),
    /** The version of the worker. */
    version: optional(z.string()),
    /** The types that the worker serves. */
    types: z.array(z.string()),
    /** How many tasks the worker runs. */
    running: count,
    /** The last sign of life. */
    lastSeen: optional(shownTime),
  })
  .meta({ id: 'Worker' })

/** A live worker. The Lambda workers of a type are shown as one, without `lastSeen`. */
export type ApiWorker = TypeOf<typeof workerAnswer>

/** One page of workers. */
export const workerPage = pageOf(workerAnswer).meta({ id: 'WorkerPage' })
