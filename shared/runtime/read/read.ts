/**
 * One task as people see it: its head, and what follows from it at this time, with input, results, runs and errors as
 * far as they fit the answer.
 */
import { SHOWN_LIST_BYTES_MAX, SHOWN_RUNS_MAX } from '../../core/bounds.ts'
import type { Json } from '../../core/json.ts'
import { isGone } from '../../core/publish/publish.ts'
import { resultOf } from '../../core/task/result.ts'
import { type Body, type EndedRun, endedRuns, type Task } from '../../core/task/task.ts'
import { readPrevious, TOO_LONG } from '../canvas/previous-of.ts'
import { sideBySide } from '../kernel/side-by-side.ts'
import type { System } from '../kernel/system.ts'
import { describeTask, readServed, type StatusReaders, type TaskDescription } from './describe-task.ts'

/** Values that are read for one answer, each once. They need not fit it: it leaves out what it has no room for. */
const MAX_VALUE_BYTES = 4 * 1024 * 1024
const MOST_READS_AT_ONCE = 10

/** The task with everything; undefined when there is none, or no more. */
export async function readTask(
  system: System,
  surroundings: StatusReaders,
  id: string,
): Promise<TaskDescription | undefined> {
  const task = await system.tasks.head(id)
  if (!task || isGone(task, system.clock.now())) return undefined
  const [values, records, served, handedOn] = await Promise.all([
    readValues(system, task),
    readRecords(system, task),
    readServed(surroundings, task),
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
 * A task whose head is at hand, without further reads of it: input and results that are kept apart are left out,
 * errors are short. `isBrief` leaves out the small ones, too.
 */
export async function describeHead(
  system: System,
  surroundings: StatusReaders,
  task: Task,
  isBrief = false,
): Promise<TaskDescription> {
  return describeTask(task, {
    now: system.clock.now(),
    served: await readServed(surroundings, task),
    isBrief,
  })
}

/** Input and the task's result first; results of further workers as far as there is room. */
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
    if (!isApart(body) || refs.has(body.ref)) continue
    bytes += body.bytes
    if (bytes <= MAX_VALUE_BYTES) refs.add(body.ref)
  }
  const values = await sideBySide([...refs], MOST_READS_AT_ONCE, async ref => {
    const value = await tasks.body(task.id, ref)
    return value === undefined ? [] : [[ref, value] as const]
  })
  return { read: new Map(values.flat()), isCut: bytes > MAX_VALUE_BYTES }
}

function isApart(body: Body | undefined): body is Extract<Body, { ref: string }> {
  return body !== undefined && 'ref' in body
}

/** Only tasks with runs that did not succeed have records. */
async function readRecords({ tasks }: System, task: Task): Promise<EndedRun[]> {
  const hasOthers = endedRuns(task).some(run => run.state !== 'succeeded')
  return hasOthers ? tasks.runRecords(task.id, task.born, SHOWN_RUNS_MAX) : []
}
