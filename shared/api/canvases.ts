import * as z from 'zod'
import { KEY_CHARACTERS_MAX } from '../core/bounds.ts'
import { MEMBER_STATUSES } from '../core/states.ts'
import { taskError } from './problems.ts'
import { publishBody } from './publish.ts'
import { count, json, optional, pathName, shownTime, strict, userId, whole } from './scalars.ts'
import type { TypeOf } from './type-of.ts'

/** Bodies and answers of canvases. */

const {
  key: _key,
  ifExists: _ifExists,
  clean: _clean,
  debounce: _debounce,
  throttle: _throttle,
  ...leafFields
} = publishBody.shape

/** A task of a canvas: its key follows from the canvas. */
export const leafBody = strict(leafFields).meta({ id: 'CanvasTask' })

/** Of a canvas beside what it is composed of. */
export const canvasFields = strict({
  key: optional(pathName(KEY_CHARACTERS_MAX).meta({ description: 'Idempotency key' })),
  userId: optional(userId).meta({ description: 'For tasks that name none' }),
  /** How many of its tasks are published at a time; 25 when left out. */
  sendConcurrency: optional(whole(1, 100)).describe(
    'How many of its tasks are published at a time; 25 when left out.',
  ),
})

type MemberBody =
  | TypeOf<typeof leafBody>
  | { chain: MemberBody[] }
  | { group: MemberBody[] }
  | { chord: { group: MemberBody[]; then: MemberBody; onError?: MemberBody } }

const member: z.ZodType<MemberBody> = z
  .lazy(() => z.union([leafBody, ...composed({})]))
  .meta({ id: 'CanvasMember' })
const members = z.array(member).min(1)

// biome-ignore lint/suspicious/noThenProperty: the word of the API
const chordBody = strict({ group: members, then: member, onError: optional(member) })

function composed<Shape extends z.core.$ZodShape>(fields: Shape) {
  return [
    strict({ ...fields, chain: members }),
    strict({ ...fields, group: members }),
    strict({ ...fields, chord: chordBody }),
  ] as const
}

/** Documents the body; the route checks it by a walk of its own, whose problems name the path to each task. */
export const canvasBody = z.union(composed(canvasFields.shape)).meta({ id: 'Canvas' })

/** Above 1,000 tasks their ids are left out. */
export type CanvasAnswer = TypeOf<typeof canvasPublished>

export const canvasPublished = z.object({
  id: z.string(),
  created: z.boolean(),
  taskIds: optional(z.array(z.string())),
})

const memberStatus = z.enum(MEMBER_STATUSES)

export const canvasAnswer = z
  .object({
    id: z.string(),
    status: z.enum(['running', 'succeeded', 'failed', 'cancelled']),
    /** On the first page, unless it is too long for an answer: above some 4 MB, counting each quote and backslash twice. */
    result: optional(json),
    error: optional(taskError),
    /** Above 1,000 tasks all that may have been published and have not ended count as running. */
    counts: z
      .object(
        Object.fromEntries(memberStatus.options.map(name => [name, count])) as Record<
          (typeof memberStatus.options)[number],
          typeof count
        >,
      )
      .describe('Above 1,000 tasks all that may have been published and have not ended count as running.'),
    items: z.array(
      z.object({
        /** Where in the body it stands: `chord.group.3`. */
        path: z.string().describe('Where in the body it stands: `chord.group.3`.'),
        taskId: z.string(),
        status: memberStatus,
        result: optional(json),
        error: optional(taskError),
      }),
    ),
    createdAt: shownTime,
    finishedAt: optional(shownTime),
    nextCursor: optional(z.string()),
  })
  .meta({ id: 'CanvasState' })

/** A canvas with a page of its tasks, in the order of its body. */
export type ApiCanvas = TypeOf<typeof canvasAnswer>
