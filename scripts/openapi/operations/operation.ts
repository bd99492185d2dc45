import type * as z from 'zod'
import type { ApiProblemCode } from '../../../shared/api/problem-codes.ts'

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
  /** The schema of a body that the route checks itself. */
  readonly body?: z.ZodType
  /** The successful answers by status. */
  readonly answers: Readonly<Record<number, Documented>>
  /** The problems of this operation, in addition to those that every operation has. */
  readonly problems?: readonly ApiProblemCode[]
}

/** The ids in the paths of the examples that name no others, by the first segment of the path. */
export const EXAMPLE_PATH: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  tasks: { id: 'resize:img-1' },
  types: { type: 'resize' },
  canvases: { id: 'canvas:album-7' },
  schedules: { name: 'nightly-report' },
}

export type Documented = {
  readonly description: string
  readonly schema?: z.ZodType
  /** The content type of an answer that is no JSON. */
  readonly contentType?: string
  /** What the header `Location` names. */
  readonly location?: string
}
