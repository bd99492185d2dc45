/**
 * This room reads one task: its head, what follows from it at this time, and as many inputs, results, runs and
 * errors as fit the answer. This file reads what an answer needs; `describe-task.ts` builds the answer from it.
 */

import { SHOWN_LIST_BYTES_MAX, SHOWN_RUNS_MAX } from '../../core/bounds.ts'
import { isGone } from '../../core/publish/publish.ts'
import type { Body } from '../../core/task/body.ts'
import { isTask } from '../../core/task/head.ts'
import { resultOf } from '../../core/task/piece.ts'
import { type EndedRun, endedRuns, type Task } from '../../core/task/task.ts'
import type { Json } from '../../core/values/json.ts'
import { readPrevious, TOO_LONG } from '../canvas/read-previous.ts'
import { readHead } from '../kernel/read-heads.ts'
import { sideBySide } from '../kernel/side-by-side.ts'
import type { System } from '../kernel/system.ts'
import { describeTask, readServed, type StatusReaders, type TaskDescription } from './describe-task.ts'

/**
 * One answer reads values of at most this size, each once. They may exceed the answer, which leaves out what
 * does not fit.
 */
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
    if (!isStoredApart(body) || refs.has(body.ref)) continue
    bytes += body.bytes
    if (bytes <= VALUES_BYTES_MAX) refs.add(body.ref)
  }
  const values = await sideBySide([...refs], READS_AT_ONCE_MAX, async ref => {
    const value = await tasks.body(task.id, ref)
    return value === undefined ? [] : [[ref, value] as const]
  })
  return { read: new Map(values.flat()), isCut: bytes > VALUES_BYTES_MAX }
}

function isStoredApart(body: Body | undefined): body is Extract<Body, { ref: string }> {
  return body !== undefined && 'ref' in body
}

/** Only tasks with runs that did not succeed have run records. */
async function readRecords({ tasks }: System, task: Task): Promise<EndedRun[]> {
  const hasUnsuccessfulRuns = endedRuns(task).some(run => run.state !== 'succeeded')
  return hasUnsuccessfulRuns ? tasks.runRecords(task.id, task.born, SHOWN_RUNS_MAX) : []
}
