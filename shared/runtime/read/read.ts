/**
 * This room reads one task: its head, what follows from it at this time, and as many inputs, results, runs and
 * errors as fit the answer. `describeTask` builds the answer from it. `why.ts` answers why a task waits.
 */

import { SHOWN_LIST_BYTES_MAX, SHOWN_RUNS_MAX } from '../../core/bounds.ts'
import { stepRuns } from '../../core/flow/flow.ts'
import { isGone } from '../../core/publish.ts'
import { type Served, type StatusReason, statusOf, statusReasonOf } from '../../core/status.ts'
import { isTask } from '../../core/task/head.ts'
import type { Body } from '../../core/task/head-fields.ts'
import type { Status } from '../../core/task/lifecycle.ts'
import { type Attempts, attempts, pieceOf, resultOf } from '../../core/task/piece.ts'
import type { EndedRun, LiveRun, RunRecord, RunState } from '../../core/task/task.ts'
import { endedRuns, liveRuns, type Task } from '../../core/task/task.ts'
import { shortError, type TaskError } from '../../core/task-error/task-error.ts'
import { defined, type Json } from '../../core/values/values.ts'
import { readPrevious, TOO_LONG } from '../canvas/read-previous.ts'
import { readHead, sideBySide } from '../kernel/heads.ts'
import type { System } from '../kernel/system.ts'
import { readServed, type StatusReaders } from './served.ts'

/** One answer reads values of at most this size, each once. They may exceed the answer, which leaves out what does not fit. */
const VALUES_BYTES_MAX = 4 * 1024 * 1024
const READS_AT_ONCE_MAX = 10

/** Reads the task with its values and records; undefined when it does not exist or was removed. */
export async function readTask(
  system: System,
  readers: StatusReaders,
  id: string,
): Promise<TaskDescription | undefined> {
  const task = await readHead(system, id, isTask)
  if (!task || isGone(task, system.clock.now())) return undefined
  const [values, records, served, handedOn] = await Promise.all([
    readValues(system, task),
    readRecords(system, task),
    readServed(readers, task),
    readPrevious(system, task, SHOWN_LIST_BYTES_MAX),
  ])
  const { read, isCut } = values
  return {
    ...describeTask(task, { now: system.clock.now(), served, values: read, records }),
    ...(isCut && { isCut }),
    ...(handedOn === TOO_LONG && { isPreviousPaged: true }),
    ...(handedOn !== undefined && handedOn !== TOO_LONG && { previous: handedOn }),
  }
}

/**
 * Describes a task whose head was read already, without further reads: errors are short, and input and results
 * that are stored apart are left out. `isBrief` leaves out those in the head, too.
 */
export async function describeHead(
  system: System,
  readers: StatusReaders,
  task: Task,
  isBrief = false,
): Promise<TaskDescription> {
  return describeTask(task, {
    now: system.clock.now(),
    served: await readServed(readers, task),
    isBrief,
  })
}

/** Reads the input and the task's result first, then the results of its steps and runs while they fit. */
async function readValues(
  { tasks }: System,
  task: Task,
): Promise<{ read: ReadonlyMap<string, Json>; isCut: boolean }> {
  const steps = Object.values(task.flow?.steps ?? {}).map(({ result }) => result)
  const results = [
    resultOf(task),
    ...steps,
    ...endedRuns(task)
      .reverse()
      .map(run => run.result),
  ]
  const refs = new Set<string>()
  let bytes = 0
  for (const body of [task.input, ...results]) {
    if (!body || !('ref' in body) || refs.has(body.ref)) continue
    bytes += body.bytes
    if (bytes <= VALUES_BYTES_MAX) refs.add(body.ref)
  }
  const values = await sideBySide([...refs], READS_AT_ONCE_MAX, async ref => {
    const value = await tasks.body(task.id, ref)
    return value === undefined ? [] : [[ref, value] as const]
  })
  return { read: new Map(values.flat()), isCut: bytes > VALUES_BYTES_MAX }
}

/** Only tasks that were restarted, or have runs that did not succeed, have run records. */
async function readRecords({ tasks }: System, task: Task): Promise<RunRecord[]> {
  const { id, born, firstBorn } = task
  const hasUnsuccessfulRuns = endedRuns(task).some(run => run.state !== 'succeeded')
  if (!firstBorn && !hasUnsuccessfulRuns) return []
  return tasks.runRecords(id, firstBorn ?? born, SHOWN_RUNS_MAX)
}

/** The history of a task shows this many ended runs. */
const HISTORY_RUNS = 5

/** A live or ended run as an answer shows it, with its result. */
export type DescribedRun = Omit<EndedRun, 'state' | 'endedAt' | 'result'> &
  Partial<Pick<LiveRun, 'leaseUntil'>> &
  Partial<Pick<EndedRun, 'endedAt'>> & { readonly state: RunState; readonly result?: Json }

/** A task as an answer shows it: the stored fields, and what follows from them at a time. */
export type TaskDescription = {
  readonly task: Task
  readonly status: Status
  readonly statusReason?: StatusReason
  readonly attempts: Attempts
  /** Sorted by fence, earliest first. */
  readonly runs: readonly DescribedRun[]
  /** Runs from before the last restart that no longer count, earliest first. */
  readonly formerRuns: readonly (DescribedRun & Pick<RunRecord, 'born'>)[]
  /** The last ended runs, also of former births, earliest first. */
  readonly history: readonly EndedRun[]
  readonly input?: Json
  readonly result?: Json
  readonly error?: TaskError
  /** For a flow: the results of its steps by name; `params` adds its input to them. */
  readonly stepResults?: Readonly<Record<string, Json>>
  readonly params?: Readonly<Record<string, Json>>
  readonly previous?: Json
  /** A list that was handed on is too long to be shown, and is read in pages. */
  readonly isPreviousPaged?: boolean
  /** Not all results were read, because they are too large for one answer. */
  readonly isCut?: boolean
}

type DescriptionSources = {
  readonly now: number
  readonly served: Served
  /** The values of bodies that are stored apart, by their reference; a missing value is left out. */
  readonly values?: ReadonlyMap<string, Json>
  /** Full records of ended runs, which the head shortens or has forgotten. */
  readonly records?: readonly RunRecord[]
  /** Leaves out input and results. */
  readonly isBrief?: boolean
}

function describeTask(task: Task, sources: DescriptionSources): TaskDescription {
  const { now, served, records = [] } = sources
  const statusReason = statusReasonOf(task, now, served)
  const input = valueIn(task.input, sources)
  const result = valueIn(resultOf(task), sources)
  const error = fullError(task.error, records)
  const former = recordsOfFormer(task, records)
  return {
    task,
    status: statusOf(task, now),
    attempts: attempts(task),
    runs: describedRuns(task, sources),
    formerRuns: former.map(run => withValue(run, sources)),
    history: [...endedRunsOf(task), ...former].sort(byEnd).slice(-HISTORY_RUNS),
    ...(statusReason && { statusReason }),
    ...defined({ input, result }),
    ...(error && { error }),
    ...flowParts(task, input, sources),
    ...handedOn(task, sources),
  }
}

function flowParts(
  { flow }: Task,
  input: Json | undefined,
  sources: DescriptionSources,
): Pick<TaskDescription, 'stepResults' | 'params'> {
  if (!flow || sources.isBrief) return {}
  const results = flow.definition.steps.flatMap(({ name }, index) => {
    const value = valueIn(flow.steps[index]?.result, sources)
    return value === undefined ? [] : [[name, value] as const]
  })
  const stepResults = Object.fromEntries(results)
  return { stepResults, params: { ...(input as Record<string, Json> | undefined), ...stepResults } }
}

/** The handed-on value, if it is stored with the task. `readTask` and a claim read the other kinds. */
function handedOn({ previous }: Task, sources: DescriptionSources): Pick<TaskDescription, 'previous'> {
  const value = previous?.kind === 'body' ? valueIn(previous.body, sources) : undefined
  return value === undefined ? {} : { previous: value }
}

function endedRunsOf(task: Task): EndedRun[] {
  return [...endedRuns(task), ...stepRuns(task)]
}

/** The records of former births. A run that restarts have kept may have several, and the one of its own birth is the oldest. */
function recordsOfFormer(task: Task, records: readonly RunRecord[]): RunRecord[] {
  const former = records.filter(({ born, fence }) => born !== task.born && !task.ended[fence])
  return [...new Map(former.map(run => [run.fence, run])).values()].sort((a, b) => a.fence - b.fence)
}

function withValue<Run extends EndedRun>({ result, ...run }: Run, sources: DescriptionSources) {
  const value = valueIn(result, sources)
  return { ...run, ...(value !== undefined && { result: value }) }
}

function describedRuns(task: Task, sources: DescriptionSources): DescribedRun[] {
  const byFence = new Map(endedRunsOf(task).map(run => [run.fence, run]))
  for (const record of sources.records ?? []) {
    const inHead = byFence.get(record.fence)
    const isMissing = !inHead && record.born === task.born
    if (isMissing || inHead?.state === record.state) byFence.set(record.fence, record)
  }
  const ended = [...byFence.values()].map(run => withValue(run, sources))
  // Live runs belong to the present piece, because the end of a piece ends its runs.
  const piece = pieceOf(task)
  const present = { state: 'running' as const, ...(piece !== undefined && { piece }) }
  const live = liveRuns(task).map(({ log, ...run }) => ({
    ...run,
    ...present,
    ...(!sources.isBrief && defined({ log })),
  }))
  return [...ended, ...live].sort((a, b) => a.fence - b.fence)
}

function valueIn(body: Body | undefined, { values, isBrief }: DescriptionSources): Json | undefined {
  if (!body || isBrief) return undefined
  return 'inline' in body ? body.inline : values?.get(body.ref)
}

/** The full error. Heads keep a shortened error; the record of its run has all of it. */
function fullError(short: TaskError | undefined, records: readonly EndedRun[]): TaskError | undefined {
  const isSame = ({ error }: EndedRun) => error && shortError(error).message === short?.message
  return records.find(isSame)?.error ?? short
}

function byEnd(a: EndedRun, b: EndedRun): number {
  return a.endedAt - b.endedAt || a.fence - b.fence
}
