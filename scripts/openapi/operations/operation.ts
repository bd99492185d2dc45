import type * as z from 'zod'
import type { ApiProblemCode } from '../../../shared/api/problem-codes.ts'
import type { Json } from '../../../shared/core/json.ts'

/** The groups of operations, in the order of the reference. */
export const TAGS = {
  Tasks: 'Publishing, reading and changing tasks.',
  Work: 'Claiming tasks, and reporting about their runs: for workers that speak HTTP.',
  Types: 'Task types: their configuration, their pause, their counts.',
  Canvases: 'Chains, groups and chords of tasks.',
  Schedules: 'Tasks that are published again and again.',
  Observing: 'Workers, failures and events.',
  Service: 'The API itself.',
} as const

type Tag = keyof typeof TAGS

/** What the document says about an operation beside its route: words, the schemas of its answers, and its problems. */
export type Operation = {
  readonly tag: Tag
  /** One line without a full stop. */
  readonly summary: string
  /** Whole sentences: what the operation does beyond its summary. */
  readonly description?: string
  /** What a call costs in DynamoDB's units, where `docs/` states it. */
  readonly cost?: string
  /** A request that a test sends to the local system: see `EXAMPLE_PATH` for the ids in its path. */
  readonly example?: Example
  /** The schema of a body that the route checks itself. */
  readonly body?: z.ZodType
  /** The successful answers by status. */
  readonly answers: Readonly<Record<number, Documented>>
  /** The problems of this operation, in addition to those that every operation has. */
  readonly problems?: readonly ApiProblemCode[]
}

type Example = {
  readonly path?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string | number | readonly string[]>>
  readonly body?: Json
}

/** The id of a run in the examples. */
export const RUN_ID = '01JCZ3V5T8Q4X6Y7Z8A9B0C1D2'

/** The ids in the paths of the examples. */
export const EXAMPLE_PATH: Readonly<Record<string, string>> = {
  id: 'resize:img-1',
  runId: RUN_ID,
  type: 'resize',
  name: 'nightly-report',
}

export type Documented = {
  readonly description: string
  readonly schema?: z.ZodType
  /** The content type of an answer that is no JSON. */
  readonly contentType?: string
  /** What the header `Location` names. */
  readonly location?: string
}
