import { KEY_CHARACTERS_MAX } from '../core/bounds.ts'
import { anyOf, listOf, open, optional, recursive, type Shape, strict } from '../core/rules/compound.ts'
import type { Rule, ValueOf } from '../core/rules/rules.ts'
import { flag, oneOf, pathName, text, whole } from '../core/rules/scalars.ts'
import { CANVAS_FORMS, CANVAS_STATUSES, MEMBER_STATUSES } from '../core/states.ts'
import { taskError } from './problems.ts'
import { publishBody } from './publish.ts'
import { count, json, pageOf, pageQuery, shownTime, userId } from './scalars.ts'
import { countsAnswer } from './types.ts'

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
export const leafBody = strict(leafFields, 'CanvasTask')

/** The fields of a canvas besides its chain, group or chord. */
export const canvasFields = strict({
  /** Idempotency key of the canvas. A second publish of it creates nothing. @default a new one */
  key: optional(pathName(KEY_CHARACTERS_MAX)),
  /** The user of the tasks that name none. @default none */
  userId: optional(userId),
  /** How many of its tasks are published at a time. @default 25 */
  sendConcurrency: optional(whole(1, 100)),
})

/** The body of a task of a canvas. */
export interface LeafBody extends ValueOf<typeof leafBody> {}

type MemberBody = LeafBody | ChainBody | GroupBody | ChordBody

export type ChainBody = {
  /** The members that run one after the other. Each gets the result of the one before it. */
  chain: MemberBody[]
}

export type GroupBody = {
  /** The members that run side by side. */
  group: MemberBody[]
}

export type ChordBody = {
  /** A group, and what runs after it. */
  chord: {
    /** The members that run side by side. */
    group: MemberBody[]
    /** What runs when all members of the group have succeeded. It gets their results, in their order. */
    then: MemberBody
    /** What runs when all members of the group have ended and one has failed. It gets the first failure. @default nothing */
    onError?: MemberBody
  }
}

const member: Rule<MemberBody> = recursive('CanvasMember', 'a task or a canvas', (): Rule => canvasMember)
/** The members of a chain or a group, in their order. */
const members = listOf(member, { min: 1, component: 'CanvasMembers' })

const chordBody = strict({
  /** The members that run side by side. */
  group: members,
  /** What runs when all members of the group have succeeded. It gets their results, in their order. */
  // biome-ignore lint/suspicious/noThenProperty: the word of the API
  then: member,
  /** What runs when all members of the group have ended and one has failed. It gets the first failure. @default nothing */
  onError: optional(member),
})

/** The three forms of a canvas, each with these fields. */
function canvasForms<Fields extends Shape>(fields: Fields) {
  return [
    strict({
      ...fields,
      /** The members that run one after the other. Each gets the result of the one before it. */
      chain: members,
    }),
    strict({
      ...fields,
      /** The members that run side by side. */
      group: members,
    }),
    strict({
      ...fields,
      /** A group, and what runs after it. */
      chord: chordBody,
    }),
  ] as const
}

/** A member of a canvas: a task, or a canvas. */
export const canvasMember = anyOf('a task or a canvas', [leafBody, ...canvasForms({})], {
  component: 'CanvasMember',
})

/** A canvas to publish: its chain, group or chord, and its fields. */
export type CanvasBody = ValueOf<typeof canvasFields> & (ChainBody | GroupBody | ChordBody)

// Callers see this rule. The operation walks the body itself, to name the path to each task.
/** A chain, a group or a chord of tasks. */
export const canvasBody = anyOf('a chain, a group or a chord', canvasForms(canvasFields.shape), {
  component: 'Canvas',
})

/** The answer to a published canvas. It leaves out the ids of its tasks when they are more than 1,000. */
export type CanvasAnswer = ValueOf<typeof canvasPublished>

export const canvasPublished = open(
  {
    /** The id of the canvas. */
    id: text(),
    /** Whether this call created the canvas. */
    created: flag(),
    /** The ids of its tasks, in the order of the body. Left out when they are more than 1,000. */
    taskIds: optional(listOf(text())),
  },
  'PublishedCanvas',
)

const memberStatus = oneOf(...MEMBER_STATUSES)

const memberCounts = open({
  /** Tasks that wait for other members. */
  pending: count,
  ...countsAnswer.shape,
  /** Tasks that never run, because a member before them failed, or an error callback that was not needed. */
  skipped: count,
} satisfies Record<(typeof MEMBER_STATUSES)[number], typeof count>)

const canvasStatus = oneOf(...CANVAS_STATUSES)

export const canvasesQuery = strict({
  /** The statuses of the canvases. @default every status */
  status: optional(listOf(canvasStatus)),
  ...pageQuery.shape,
})

/** Which canvases to list, and which page. */
export type CanvasesQuery = ValueOf<typeof canvasesQuery>

const listedCanvas = open(
  {
    /** The id of the canvas. */
    id: text(),
    /** The key of the canvas. */
    key: text(),
    /** What the canvas is as a whole. */
    form: oneOf(...CANVAS_FORMS),
    /** How far the canvas is. */
    status: canvasStatus,
    /** Why the canvas failed: the error of its first failed member. */
    error: optional(taskError),
    /** How many tasks the canvas has. */
    tasks: count,
    /** How many of them have ended. Left out once the canvas has ended. */
    ended: optional(count),
    /** When the canvas was published. */
    createdAt: shownTime,
    /** When the canvas ended. */
    finishedAt: optional(shownTime),
  },
  'ListedCanvas',
)

/** A canvas in a list, without its tasks. */
export type ApiListedCanvas = ValueOf<typeof listedCanvas>

/** One page of canvases. */
export const canvasPage = pageOf(listedCanvas, 'CanvasPage')

export const canvasAnswer = open(
  {
    /** The id of the canvas. */
    id: text(),
    /** How far the canvas is. */
    status: canvasStatus,
    /**
     * Only the first page shows the result. It is left out when it is too long for an answer: above some 4 MB, where each quote and
     * backslash counts twice.
     */
    result: optional(json),
    /** Why the canvas failed: the error of its first failed member. */
    error: optional(taskError),
    /** How many tasks have each status. Above 1,000 tasks, each one that may be published and has not ended counts as running. */
    counts: memberCounts,
    /** A page of the tasks, in the order of the body. */
    items: listOf(
      open({
        /** The path of the task in the body, such as `chord.group.3`. */
        path: text(),
        /** The id of the task. */
        taskId: text(),
        /** The status of the task. `pending`: it waits for other members. `skipped`: it never runs. */
        status: memberStatus,
        /** The result of the task. */
        result: optional(json),
        /** Why the task failed. */
        error: optional(taskError),
      }),
    ),
    /** When the canvas was published. */
    createdAt: shownTime,
    /** When the canvas ended. */
    finishedAt: optional(shownTime),
    /** The `cursor` of the next page of tasks. Left out on the last one. */
    nextCursor: optional(text()),
  },
  'CanvasState',
)

/** A canvas with a page of its tasks, in the order of its body. */
export type ApiCanvas = ValueOf<typeof canvasAnswer>
