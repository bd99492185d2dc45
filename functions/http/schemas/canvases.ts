import * as z from 'zod'
import { MAX_KEY_LENGTH } from '../../../shared/core/bounds.ts'
import { MEMBER_STATUSES } from '../../../shared/runtime/canvas/describe-canvas.ts'
import { whole } from './answers.ts'
import { publishBody } from './requests.ts'
import { whole as count, json, optional, pathName, shownTime, strict, userId } from './scalars.ts'
import { error } from './task-error.ts'

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
  key: optional(pathName(MAX_KEY_LENGTH).meta({ description: 'Idempotency key' })),
  userId: optional(userId).meta({ description: 'For tasks that name none' }),
  sendConcurrency: optional(count(1, 100)),
})

type MemberBody =
  | z.infer<typeof leafBody>
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
    result: optional(json),
    error: optional(error),
    counts: z.object(
      Object.fromEntries(memberStatus.options.map(name => [name, whole])) as Record<
        (typeof memberStatus.options)[number],
        typeof whole
      >,
    ),
    items: z.array(
      z.object({
        path: z.string(),
        taskId: z.string(),
        status: memberStatus,
        result: optional(json),
        error: optional(error),
      }),
    ),
    createdAt: shownTime,
    finishedAt: optional(shownTime),
    nextCursor: optional(z.string()),
  })
  .meta({ id: 'CanvasState' })

export const canvasQuery = strict({
  limit: optional(count(1, 100)),
  cursor: optional(z.string().max(2_048)),
})
