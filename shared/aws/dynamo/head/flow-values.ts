import { defined } from '../../../core/defined.ts'
import { BatonError } from '../../../core/errors.ts'
import { DEFAULT_OPTIONS, type Options } from '../../../core/options/options.ts'
import type { ActionRecord, FlowDefinition, FlowState, StepRecord } from '../../../core/task/flow-state.ts'
import { type BodyValue, bodyFrom, bodyValue, errorFrom, errorValue } from './run-values.ts'

/** A flow's progress in a head. The names are short, so that many steps fit into one write unit. */
export type FlowValue = {
  /** The name of the definition, which is an item of its own. */
  readonly def: string
  readonly cur?: number
  readonly at?: number
  readonly undo?: true
  readonly stop?: true
  readonly round?: number
  readonly limit?: number
  readonly until?: number
  readonly steps?: Readonly<Record<string, StepValue>>
}

type StepValue = {
  readonly s: StepRecord['state']
  readonly d: ActionValue
  readonly r?: BodyValue
  readonly u?: ActionValue
}

/**
 * One action of a step. `at` and `end` are its times and `n` is the number of its runs. `f`, `by` and `ran` are the fence, the
 * worker and the beginning of the run that ended it. `w` is the digest of the report that ended an undo, and `e` is its error.
 */
type ActionValue = {
  readonly at?: number
  readonly end?: number
  readonly n?: number
  readonly f?: number
  readonly by?: string
  readonly ran?: number
  readonly w?: string
  readonly e?: string
}

export function flowValue(flow: FlowState): FlowValue {
  const steps = Object.entries(flow.steps).map(([index, record]) => [index, stepValue(record)] as const)
  return defined({
    def: flow.definition.name,
    cur: flow.cursor || undefined,
    at: flow.at || undefined,
    undo: flow.direction === 'undo' ? (true as const) : undefined,
    stop: flow.cancelling,
    round: flow.round,
    limit: flow.deadlineMs,
    until: flow.deadlineAt,
    steps: steps.length > 0 ? Object.fromEntries(steps) : undefined,
  })
}

/** @throws BatonError `invalid` when `definition` is not the one that the flow names. */
export function flowFrom(value: FlowValue, definition: FlowDefinition | undefined): FlowState {
  if (definition?.name !== value.def) {
    throw new BatonError('invalid', `the steps ${value.def} of a flow are not stored in this table`)
  }
  const steps = Object.entries(value.steps ?? {}).map(([index, record]) => [index, stepFrom(record)] as const)
  return defined({
    definition,
    cursor: value.cur ?? 0,
    at: value.at ?? 0,
    direction: value.undo ? ('undo' as const) : ('do' as const),
    steps: Object.fromEntries(steps),
    cancelling: value.stop,
    round: value.round,
    deadlineMs: value.limit,
    deadlineAt: value.until,
  })
}

/** The options that the head of a flow stores: only its retention. The others follow from its present step. */
export function ownOptions(options: Options): Options {
  return { ...DEFAULT_OPTIONS, retentionMs: options.retentionMs }
}

export function optionsOfStep(flow: FlowState, own: Options): Options {
  const action = flow.definition.steps[flow.at]?.[flow.direction]
  return action ? { ...action.options, retentionMs: own.retentionMs } : own
}

function stepValue(record: StepRecord): StepValue {
  return defined({
    s: record.state,
    d: actionValue(record.do),
    r: record.result && bodyValue(record.result),
    u: record.undo && actionValue(record.undo),
  })
}

function stepFrom(value: StepValue): StepRecord {
  return defined({
    state: value.s,
    do: actionFrom(value.d),
    result: value.r === undefined ? undefined : bodyFrom(value.r),
    undo: value.u && actionFrom(value.u),
  })
}

function actionValue({
  startedAt,
  endedAt,
  attempts,
  fence,
  workerId,
  ranAt,
  reportDigest,
  error,
}: ActionRecord): ActionValue {
  return defined({
    at: startedAt,
    end: endedAt,
    n: attempts || undefined,
    f: fence,
    by: workerId,
    ran: ranAt,
    w: reportDigest,
    e: error && errorValue(error),
  })
}

function actionFrom({ at, end, n, f, by, ran, w, e }: ActionValue): ActionRecord {
  return defined({
    startedAt: at,
    endedAt: end,
    attempts: n ?? 0,
    fence: f,
    workerId: by,
    ranAt: ran,
    reportDigest: w,
    error: e === undefined ? undefined : errorFrom(e),
  })
}
