import { listOf, open, optional } from '../core/rules/compound.ts'
import type { ValueOf } from '../core/rules/rules.ts'
import { oneOf, text } from '../core/rules/scalars.ts'
import { count, pageOf, shownTime } from './scalars.ts'

const workerAnswer = open(
  {
    /** The id of the worker. */
    id: text(),
    /** How the worker works: a process with the library, a program over HTTP, or a Lambda function. */
    kind: oneOf('standalone', 'http', 'lambda'),
    /** The version of the worker. */
    version: optional(text()),
    /** The types that the worker serves. */
    types: listOf(text()),
    /** How many tasks the worker runs. */
    running: count,
    /** The last sign of life. */
    lastSeen: optional(shownTime),
  },
  'Worker',
)

/** A live worker. The Lambda workers of a type are shown as one, without `lastSeen`. */
export type ApiWorker = ValueOf<typeof workerAnswer>

/** One page of workers. */
export const workerPage = pageOf(workerAnswer, 'WorkerPage')
