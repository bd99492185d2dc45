import { SCHEDULE_GRACE_MS } from '../../../core/bounds.ts'
import { DEFAULT_OPTIONS, type Options } from '../../../core/options.ts'
import type { ActionRecord, FlowDefinition, FlowState, StepRecord } from '../../../core/task/flow-state.ts'
import type {
  Body,
  CanvasState,
  Member,
  Missed,
  OperationRecord,
  Pause,
  ScheduleState,
  Timing,
} from '../../../core/task/head-fields.ts'
import type {
  Callbacks,
  EndCause,
  EndedRun,
  EndedRunState,
  HandOn,
  LiveRun,
  Permit,
  Previous,
  Task,
  Wait,
} from '../../../core/task/task.ts'
import type { TaskError } from '../../../core/task-error/task-error.ts'
import { illegal, type Json } from '../../../core/values/values.ts'
import type { CheckedCodec, Codec, StoredBy } from '../attributes.ts'
import {
  always,
  attributesOf,
  flag,
  flagFor,
  isMap,
  json,
  literal,
  mapOf,
  mapped,
  mapValues,
  number,
  oneOf,
  optional,
  text,
  withDefault,
} from '../attributes.ts'

/**
 * This file stores the parts of a head: its runs, what they hold, what the task waits for, and a flow's progress; then where a task comes
 * from and what follows it, which is the value handed on, callbacks, canvas, schedule, and operations.
 * The names of a flow's attributes are short, so that many steps fit into one write unit.
 */

type BodyApart = Exclude<Body, { readonly inline: Json }>
const BODY_APART = attributesOf<BodyApart>()({
  ref: always('ref', text),
  bytes: always('bytes', number),
  expiresAt: always('expires', number),
})

type StoredBody = string | StoredBy<typeof BODY_APART>

/** An inline body is JSON text. A body in an item of its own is a map, so the two forms cannot be mistaken. */
export const body: CheckedCodec<Body, StoredBody> = {
  encode: value => ('inline' in value ? JSON.stringify(value.inline) : BODY_APART.encode(value)),
  decode: stored =>
    typeof stored === 'string' ? { inline: JSON.parse(stored) as Json } : BODY_APART.decode(stored),
  fits: stored => typeof stored === 'string' || (isMap(stored) && typeof stored.ref === 'string'),
}

/** Name, message, stack and causes as JSON text. Missing members at the end are left out. A missing stack before causes is null. */
export const taskError: Codec<TaskError, string> = {
  encode: ({ name, message, stack, causes }) => {
    const pairs = causes?.map(cause => [cause.name, cause.message])
    if (pairs) return JSON.stringify([name, message, stack ?? null, pairs])
    return JSON.stringify(stack === undefined ? [name, message] : [name, message, stack])
  },
  decode: stored => {
    const [name, message, stack = null, pairs] = JSON.parse(stored) as StoredError
    const causes = pairs?.map(([causeName, causeMessage]) => ({ name: causeName, message: causeMessage }))
    return { name, message, ...(stack !== null && { stack }), ...(causes && { causes }) }
  },
}

type StoredError = readonly [string, string, (string | null)?, (readonly (readonly [string, string])[])?]

/** The run's permit holders, by limit. */
const permits: Codec<readonly Permit[], Readonly<Record<string, string>>> = {
  encode: held => Object.fromEntries(held.map(({ limit, holder }) => [limit, holder])),
  decode: stored => Object.entries(stored).map(([limit, holder]) => ({ limit, holder })),
}

export const LIVE_RUN = attributesOf<Omit<LiveRun, 'fence'>>()({
  workerId: always('by', text),
  startedAt: always('at', number),
  leaseUntil: always('lease', number),
  leaseMs: optional('length', number),
  timeoutAt: optional('limit', number),
  progress: optional('progress', json<Json>()),
  log: optional('log', text),
  permits: optional('permits', permits),
})

export const ENDED_RUN = attributesOf<Omit<EndedRun, 'fence'>>()({
  workerId: always('by', text),
  state: always('state', literal<EndedRunState>()),
  startedAt: always('at', number),
  endedAt: always('end', number),
  result: optional('result', body),
  error: optional('error', taskError),
  cause: optional('cause', literal<EndCause>()),
  progress: optional('progress', json<Json>()),
  log: optional('log', text),
  piece: optional('piece', text),
  past: optional('past', flag),
  reportDigest: optional('word', text),
})

/** Runs by fence. The key alone stores the fence. */
export function byFence<Run extends object, S>({
  encode,
  decode,
}: Codec<Run, S>): Codec<
  Readonly<Record<string, Run & { readonly fence: number }>>,
  Readonly<Record<string, S>>
> {
  return {
    encode: runs => mapValues(runs, encode),
    decode: stored => mapValues(stored, (run, fence) => ({ fence: Number(fence), ...decode(run) })),
  }
}

/** The first character of each key. Workers choose their ids, and an id `__proto__` alone would not be an ordinary key. */
const WORKER_MARK = '~'

export const numbersByWorker: Codec<Task['failuresBy'], Readonly<Record<string, number>>> = {
  encode: numbers =>
    Object.fromEntries(Object.entries(numbers).map(([worker, value]) => [WORKER_MARK + worker, value])),
  decode: stored =>
    Object.fromEntries(Object.entries(stored).map(([marked, value]) => [marked.slice(1), value])),
}

/** The limit that a task waits for. Earlier versions stored the `terms` of a slot that they had reserved for the task. */
type StoredWait = { readonly of: string; readonly slot?: true; readonly terms?: string }

export const wait: Codec<Wait, StoredWait> = {
  encode: ({ kind, limit }) => ({ of: limit, ...(kind === 'slot' && { slot: true }) }),
  decode: ({ of, slot, terms }) => ({ kind: slot || terms !== undefined ? 'slot' : 'permit', limit: of }),
}

/** One action of a step. `f`, `by` and `ran` are the fence, the worker and the beginning of the run that ended it. */
const ACTION = attributesOf<ActionRecord>()({
  startedAt: optional('at', number),
  endedAt: optional('end', number),
  attempts: withDefault('n', number, 0),
  fence: optional('f', number),
  workerId: optional('by', text),
  ranAt: optional('ran', number),
  reportDigest: optional('w', text),
  error: optional('e', taskError),
})

const STEP = attributesOf<StepRecord>()({
  state: always('s', literal<StepRecord['state']>()),
  do: always('d', ACTION),
  result: optional('r', body),
  undo: optional('u', ACTION),
})

const PROGRESS = attributesOf<Omit<FlowState, 'definition'>>()({
  reachedStep: withDefault('cur', number, 0),
  presentStep: withDefault('at', number, 0),
  direction: withDefault('undo', flagFor('undo'), 'do'),
  cancelling: optional('stop', flag),
  round: optional('round', number),
  deadlineMs: optional('limit', number),
  deadlineAt: optional('until', number),
  steps: mapped('steps', mapOf(STEP)),
})

/** `def` is the name of the definition, which is an item of its own. */
export type StoredFlow = { readonly def: string } & StoredBy<typeof PROGRESS>

export function storedFlow(flow: FlowState): StoredFlow {
  return { def: flow.definition.name, ...PROGRESS.encode(flow) }
}

/** @throws BatonError `invalid` when `definition` is not the one that the flow names. */
export function flowFrom(stored: StoredFlow, definition: FlowDefinition | undefined): FlowState {
  if (definition?.name !== stored.def) {
    throw illegal(`the steps ${stored.def} of a flow are not stored in this table`)
  }
  return { definition, ...PROGRESS.decode(stored) }
}

/** The options that the head of a flow stores: only its retention. The others follow from its present step. */
export function ownOptions(options: Options): Options {
  return { ...DEFAULT_OPTIONS, retentionMs: options.retentionMs }
}

export function optionsOfStep(flow: FlowState, own: Options): Options {
  const action = flow.definition.steps[flow.presentStep]?.[flow.direction]
  return action ? { ...action.options, retentionMs: own.retentionMs } : own
}

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
  managedBy: optional('by', text),
  lastRunAt: optional('last', number),
  pauses: optional('pauses', pauses),
})

type StoredSchedule = StoredBy<typeof timing> & StoredBy<typeof SCHEDULE>

/** The attributes of the timing are on the same level as the others. */
export const schedule: Codec<ScheduleState, StoredSchedule> = {
  encode: state => ({ ...timing.encode(state.timing), ...SCHEDULE.encode(state) }),
  decode: stored => ({ timing: timing.decode(stored), ...SCHEDULE.decode(stored) }),
}
