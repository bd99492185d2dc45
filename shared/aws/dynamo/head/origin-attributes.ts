import { SCHEDULE_GRACE_MS } from '../../../core/bounds.ts'
import type {
  CanvasState,
  Member,
  Missed,
  OperationRecord,
  Pause,
  ScheduleState,
  Timing,
} from '../../../core/task/head-fields.ts'
import type { Callbacks, HandOn, Previous } from '../../../core/task/task.ts'
import {
  always,
  attributesOf,
  type Codec,
  flag,
  literal,
  number,
  oneOf,
  optional,
  type StoredBy,
  text,
  withDefault,
} from '../attributes.ts'
import { body } from './run-attributes.ts'

/** This file stores where a task comes from and what follows it: the value handed on, callbacks, canvas, schedule, and operations. */

type PreviousOf<K extends Previous['kind']> = Omit<Extract<Previous, { readonly kind: K }>, 'kind'>

const handOn = always('how', literal<HandOn>())

export const previous = oneOf<Previous>()({
  body: attributesOf<PreviousOf<'body'>>()({ handOn, body: always('body', body) }),
  result: attributesOf<PreviousOf<'result'>>()({
    handOn,
    taskId: always('of', text),
    ref: always('ref', text),
    bytes: always('bytes', number),
  }),
  node: attributesOf<PreviousOf<'node'>>()({
    handOn,
    canvasId: always('of', text),
    born: always('born', text),
    node: always('node', number),
  }),
})

export const CALLBACKS = attributesOf<Callbacks>()({
  body: always('body', body),
  onSuccess: withDefault('ok', number, 0),
  onError: withDefault('bad', number, 0),
})

/** The key of a member begins with the birth of its canvas. The birth is stored nevertheless: a restart must not rely on keys. */
export const MEMBER = attributesOf<Member>()({
  canvasId: always('of', text),
  born: always('born', text),
  leaf: always('leaf', number),
  first: optional('first', literal<NonNullable<Member['first']>>()),
})

export const CANVAS = attributesOf<CanvasState>()({
  tree: always('tree', body),
  leaves: always('leaves', number),
  sendConcurrency: optional('send', number),
  started: withDefault('started', flag, false),
})

/**
 * Records of operators' changes, as JSON text `[[by, …], [[at, n, what], …]]`. Each principal is listed once, and each record
 * names its principal by number. A record takes some 25 bytes, and a principal the bytes of its name.
 */
export const operations: Codec<readonly OperationRecord[], string> = {
  encode: records => {
    const principals = [...new Set(records.map(({ by }) => by))]
    return JSON.stringify([principals, records.map(({ at, by, what }) => [at, principals.indexOf(by), what])])
  },
  decode: stored => {
    const [principals, records] = JSON.parse(stored) as [string[], Array<[number, number, string]>]
    return records.map(([at, nth, what]) => ({ at, by: principals[nth] ?? '', what }))
  },
}

type TimingOf<K extends Timing['kind']> = Omit<Extract<Timing, { readonly kind: K }>, 'kind'>

const timing = oneOf<Timing>()({
  cron: attributesOf<TimingOf<'cron'>>()({ cron: always('cron', text), timezone: always('tz', text) }),
  every: attributesOf<TimingOf<'every'>>()({ everyMs: always('every', number) }),
  at: attributesOf<TimingOf<'at'>>()({ at: always('at', number) }),
})

/** The number of due ticks that a schedule catches up on. */
const catchUp: Codec<Exclude<Missed, 'skip'>, number> = {
  encode: missed => missed.catchUp,
  decode: stored => ({ catchUp: stored }),
}

/** Pairs of beginning and end. The last pause may have no end. */
const pauses: Codec<readonly Pause[], ReadonlyArray<readonly number[]>> = {
  encode: all => all.map(({ from, to }) => (to === undefined ? [from] : [from, to])),
  decode: stored => stored.map(([from = 0, to]) => (to === undefined ? { from } : { from, to })),
}

const SCHEDULE = attributesOf<Omit<ScheduleState, 'timing'>>()({
  missed: withDefault('late', catchUp, 'skip'),
  graceMs: withDefault('grace', number, SCHEDULE_GRACE_MS),
  taskType: always('type', text),
  paused: withDefault('paused', flag, false),
  lastRunAt: optional('last', number),
  pauses: optional('pauses', pauses),
})

type StoredSchedule = StoredBy<typeof timing> & StoredBy<typeof SCHEDULE>

/** The attributes of the timing are on the same level as the others. */
export const schedule: Codec<ScheduleState, StoredSchedule> = {
  encode: state => ({ ...timing.encode(state.timing), ...SCHEDULE.encode(state) }),
  decode: stored => ({ timing: timing.decode(stored), ...SCHEDULE.decode(stored) }),
}
