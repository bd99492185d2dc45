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

/** A task of a canvas. It has no `key`, because the canvas makes it. */
export const leafBody = strict(leafFields).meta({ id: 'CanvasTask' })

/** The fields of a canvas beside its chain, group or chord. */
export const canvasFields = strict({
  key: optional(pathName(KEY_CHARACTERS_MAX).meta({ description: 'Idempotency key' })),
  userId: optional(userId).meta({ description: 'The user of tasks that name none' }),
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
  .lazy(() => z.union([leafBody, ...canvasForms({})]))
  .meta({ id: 'CanvasMember' })
const members = z.array(member).min(1)

// biome-ignore lint/suspicious/noThenProperty: the word of the API
const chordBody = strict({ group: members, then: member, onError: optional(member) })

/** The three forms of a canvas, each with these fields. */
function canvasForms<Shape extends z.core.$ZodShape>(fields: Shape) {
  return [
    strict({ ...fields, chain: members }),
    strict({ ...fields, group: members }),
    strict({ ...fields, chord: chordBody }),
  ] as const
}

/** The body as the OpenAPI document shows it. The route checks it by a walk of its own, to name the path to each task. */
export const canvasBody = z.union(canvasForms(canvasFields.shape)).meta({ id: 'Canvas' })

/** The answer to a published canvas. It leaves out the ids of its tasks when they are more than 1,000. */
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
    /**
     * Only the first page shows the result. It is left out when it is too long for an answer: above some 4 MB, where each quote and
     * backslash counts twice.
     */
    result: optional(json),
    error: optional(taskError),
    /** How many tasks have each status. Above 1,000 tasks, each one that may be published and has not ended counts as running. */
    counts: z
      .object(
        Object.fromEntries(memberStatus.options.map(name => [name, count])) as Record<
          (typeof memberStatus.options)[number],
          typeof count
        >,
      )
      .describe(
        'How many tasks have each status. Above 1,000 tasks, each one that may be published and has not ended counts as running.',
      ),
    items: z.array(
      z.object({
        /** The path of the task in the body, such as `chord.group.3`. */
        path: z.string().describe('The path of the task in the body, such as `chord.group.3`.'),
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
