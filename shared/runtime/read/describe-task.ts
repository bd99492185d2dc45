import { stepRuns } from '../../core/flow/describe-steps.ts'
import type { Json } from '../../core/json.ts'
import type { Claimer } from '../../core/run/claim.ts'
import { type Served, type StatusReason, statusOf, statusReasonOf } from '../../core/status/status.ts'
import { type Attempts, attempts } from '../../core/task/attempts.ts'
import { shortError } from '../../core/task/body.ts'
import type { Status } from '../../core/task/lifecycle.ts'
import { isTakenInOrder, pieceOf, workOf } from '../../core/task/piece.ts'
import { resultOf } from '../../core/task/result.ts'
import {
  type Body,
  type EndedRun,
  endedRuns,
  isTargeted,
  type LiveRun,
  liveRuns,
  type RunState,
  type Task,
  type TaskError,
} from '../../core/task/task.ts'
import { servingType, type TaskType } from '../../core/types/task-type.ts'
import { invocationWorkerId, type Worker } from '../../core/worker/worker.ts'

/** The history of a task is so many ended runs long. */
const HISTORY_RUNS = 5

/** A run as people see it: of live and ended ones what applies, the result at hand. */
export type DescribedRun = Omit<EndedRun, 'state' | 'endedAt' | 'result'> &
  Partial<Pick<LiveRun, 'leaseUntil'>> &
  Partial<Pick<EndedRun, 'endedAt'>> & { readonly state: RunState; readonly result?: Json }

/** A task as people see it: what is stored, and what follows from it at a time. */
export type TaskDescription = {
  readonly task: Task
  readonly status: Status
  readonly statusReason?: StatusReason
  readonly attempts: Attempts
  /** By fence, earliest first. */
  readonly runs: readonly DescribedRun[]
  /** The last ended runs, earliest first. */
  readonly history: readonly EndedRun[]
  readonly input?: Json
  readonly result?: Json
  readonly error?: TaskError
  /** Of a flow: the results of its steps by their names, and with its input all its parameters. */
  readonly stepResults?: Readonly<Record<string, Json>>
  readonly params?: Readonly<Record<string, Json>>
  readonly previous?: Json
  /** What was handed on is a list too long to be shown, and is read in pages. */
  readonly isPreviousPaged?: boolean
  /** Not all results were read: there are too many for an answer. */
  readonly isCut?: boolean
}

/** What a description is made from beside the head. */
export type DescriptionSources = {
  readonly now: number
  readonly served: Served
  /** Values of bodies kept apart, by their reference; one that is missing is left out. */
  readonly values?: ReadonlyMap<string, Json>
  /** Full records of ended runs, which the head keeps in short or has forgotten. */
  readonly records?: readonly EndedRun[]
  /** Without input and results. */
  readonly isBrief?: boolean
}

export function describeTask(task: Task, particulars: DescriptionSources): TaskDescription {
  const { now, served, records = [] } = particulars
  const statusReason = statusReasonOf(task, now, served)
  const input = valueIn(task.input, particulars)
  const result = valueIn(resultOf(task), particulars)
  const error = fullError(task.error, records)
  return {
    task,
    status: statusOf(task, now),
    attempts: attempts(task),
    runs: describedRuns(task, particulars),
    history: allEnded(task).sort(byEnd).slice(-HISTORY_RUNS),
    ...(statusReason && { statusReason }),
    ...(input !== undefined && { input }),
    ...(result !== undefined && { result }),
    ...(error && { error }),
    ...flowParts(task, input, particulars),
    ...handedOn(task, particulars),
  }
}

function flowParts(
  { flow }: Task,
  input: Json | undefined,
  particulars: DescriptionSources,
): Pick<TaskDescription, 'stepResults' | 'params'> {
  if (!flow || particulars.isBrief) return {}
  const results = flow.definition.steps.flatMap(({ name }, index) => {
    const value = valueIn(flow.steps[index]?.result, particulars)
    return value === undefined ? [] : [[name, value] as const]
  })
  const stepResults = Object.fromEntries(results)
  return { stepResults, params: { ...(input as Record<string, Json> | undefined), ...stepResults } }
}

/** As far as it is at hand; a read of the task and a claim put the rest together. */
function handedOn({ previous }: Task, particulars: DescriptionSources): Pick<TaskDescription, 'previous'> {
  const value = previous?.kind === 'body' ? valueIn(previous.body, particulars) : undefined
  return value === undefined ? {} : { previous: value }
}

/** Types and workers as they were within the last second, for what may be a little late. */
export type StatusReaders = {
  typeOf(type: string): Promise<TaskType | undefined>
  /** The workers that show signs of life. */
  liveWorkers(): Promise<readonly Worker[]>
  /** Whether the rate limits of its types allow a start of the task now. */
  allowsStart(task: Task): Promise<boolean>
}

/** Of a task that has ended or runs nobody asks who could take it. */
const NOT_ASKED: Served = { hasHandler: true, liveWorkers: [], isPaused: false, isRateUsedUp: false }

/**
 * What serves the task: needed, and read, only of one that is open and does not run. Types and workers come from memories of
 * a second, so that a page of a list reads each of its types once, and the workers once, however many tasks it shows.
 */
export async function readServed(surroundings: StatusReaders, task: Task): Promise<Served> {
  const { typeOf, liveWorkers } = surroundings
  const { state, live } = task
  if (state !== 'open' || Object.keys(live).length > 0) return NOT_ASKED
  const { type, kind } = workOf(task)
  const serving = servingType(type, kind)
  const deployed = kind === 'http' ? undefined : await typeOf(serving)
  const isByLambda = deployed?.handlerSince !== undefined && deployed.servedBy !== 'workers'
  const isAsked = isTargeted(task) || kind === 'http' || deployed?.servedBy === 'workers'
  const workers: readonly Worker[] = isAsked ? await liveWorkers() : []
  return {
    hasHandler: kind === 'http' || deployed?.handlerSince !== undefined,
    liveWorkers: [
      ...(isTargeted(task) ? workers : workers.filter(({ types }) => types.includes(serving))),
      ...(isByLambda ? [invocationOf(deployed)] : []),
    ],
    ...(await controlled(surroundings, task)),
  }
}

/** Each invocation is a worker of its own, which has done nothing of any task yet. */
function invocationOf({ handlerVersion: version }: TaskType): Claimer {
  return { workerId: invocationWorkerId('next'), ...(version !== undefined && { version }) }
}

async function controlled(
  { typeOf, allowsStart }: StatusReaders,
  task: Task,
): Promise<Pick<Served, 'isPaused' | 'isRateUsedUp'>> {
  const names = [...new Set([task.type, workOf(task).type])]
  const types = await Promise.all(names.map(typeOf))
  // Of what is dispatched its own turn tells.
  const isAsked = isTakenInOrder(task) && types.some(type => type?.configuration.limits?.rate)
  return {
    isPaused: types.some(type => type?.paused),
    isRateUsedUp: isAsked && !(await allowsStart(task)),
  }
}

function allEnded(task: Task): EndedRun[] {
  return [...endedRuns(task), ...stepRuns(task)]
}

function describedRuns(task: Task, particulars: DescriptionSources): DescribedRun[] {
  const byFence = new Map(allEnded(task).map(run => [run.fence, run]))
  for (const record of particulars.records ?? []) {
    const inHead = byFence.get(record.fence)
    if (!inHead || inHead.state === record.state) byFence.set(record.fence, record)
  }
  const ended = [...byFence.values()].map(({ result, ...run }) => {
    const value = valueIn(result, particulars)
    return { ...run, ...(value !== undefined && { result: value }) }
  })
  // Live runs are of the present piece: the end of a piece ends them.
  const piece = pieceOf(task)
  const present = { state: 'running' as const, ...(piece !== undefined && { piece }) }
  const live = liveRuns(task).map(run => ({ ...run, ...present }))
  return [...ended, ...live].sort((a, b) => a.fence - b.fence)
}

function valueIn(body: Body | undefined, { values, isBrief }: DescriptionSources): Json | undefined {
  if (!body || isBrief) return undefined
  return 'inline' in body ? body.inline : values?.get(body.ref)
}

/** Heads keep errors in short; the record of the run they come from has all of it. */
function fullError(short: TaskError | undefined, records: readonly EndedRun[]): TaskError | undefined {
  const isSame = ({ error }: EndedRun) => error && shortError(error).message === short?.message
  return records.find(isSame)?.error ?? short
}

function byEnd(a: EndedRun, b: EndedRun): number {
  return a.endedAt - b.endedAt || a.fence - b.fence
}
