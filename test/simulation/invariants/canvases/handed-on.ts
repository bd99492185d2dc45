import { isDeepStrictEqual } from 'node:util'
import type { Task } from '../../../../shared/core/task/task.ts'
import { allJobs } from '../../jobs-in.ts'
import type { Job } from '../../scenario.ts'
import type { HistoryEvent } from '../../world/history.ts'
import type { Invariant } from '../invariant.ts'
import { nonceOf, plainResult, type Result } from '../publishing/tags.ts'
import { createHandOnModel } from './hand-on-model.ts'

type Began = Extract<HistoryEvent, { readonly what: 'began' }>

/** Promises about handed-on results and the parameters of steps. */
export const INPUT_INVARIANTS: readonly Invariant[] = [
  {
    name: 'each step of a flow is given the results of the steps before it',
    watch: () => {
      const results = new Map<string, Readonly<Record<string, Result>>>()
      return {
        on: event => {
          if (event.what === 'write' && event.after.operation === 'claim') {
            const { after } = event
            if (after.flow) results.set(`${after.id} ${after.fence}`, resultsOfSteps(after))
          }
          if (event.what !== 'began' || !event.params) return undefined
          const { id, fence } = event
          const expected = results.get(`${id} ${fence}`) ?? {}
          const given = resultsGiven(event)
          return isDeepStrictEqual(given, expected)
            ? undefined
            : `${id} is given the results ${JSON.stringify(given)}, expected are ${JSON.stringify(expected)}`
        },
      }
    },
  },
  {
    name: 'a task is handed the results or the error of the tasks before it',
    watch: ({ steps }) => {
      const model = createHandOnModel(steps)
      const jobs = new Map(allJobs(steps).map(job => [job.nonce, job]))
      const tasks = new Map<string, Task>()
      return {
        on: event => {
          if (event.what === 'write') {
            model.see(event.before, event.after)
            tasks.set(event.after.id, event.after)
          }
          if (event.what !== 'began') return undefined
          const task = tasks.get(event.id)
          const job = jobs.get((task && nonceOf(task)) ?? Number.NaN)
          const expected = task && job && model.expected(task, job)
          if (!expected) return undefined
          const given = plainPrevious(event.previous)
          return expected.some(one => isDeepStrictEqual(one, given))
            ? faultOfInput(event, job)
            : `${task.id} is handed ${JSON.stringify(given)}, expected is ${JSON.stringify(expected)}`
        },
      }
    },
  },
]

function resultsOfSteps({ id, flow }: Task): Record<string, Result> {
  const all = (flow?.definition.steps ?? []).flatMap(({ name }, at) => {
    const fence = flow?.steps[at]?.do.fence
    return fence === undefined ? [] : [[name, { by: fence, of: id }] as const]
  })
  return Object.fromEntries(all)
}

const OF_SCRIPTS: ReadonlySet<string> = new Set(['nonce', 'acts', 'pieces', 'padding'])

function resultsGiven({ params }: Began): Record<string, unknown> {
  const results = Object.entries(params ?? {}).filter(([name]) => !OF_SCRIPTS.has(name))
  return Object.fromEntries(results.map(([name, value]) => [name, plainResult(value)]))
}

/** What was handed on, without what varies: an error is reduced to its task. */
function plainPrevious(previous: unknown): unknown {
  const error = errorIn(previous)
  return error ? { taskId: error.taskId } : plainResult(previous)
}

type HandedError = { readonly taskId: string; readonly error: { readonly message: string } }

function errorIn(previous: unknown): HandedError | undefined {
  const isError = typeof previous === 'object' && previous !== null && 'error' in previous
  return isError ? (previous as HandedError) : undefined
}

/**
 * Checks an input that is an array. A handed-on value is appended as one argument, or as several when a chord's
 * callback gets the results of a group. The message of an error comes first.
 */
function faultOfInput({ id, input, previous }: Began, { isList }: Job): string | undefined {
  if (!isList) return undefined
  const all = Array.isArray(input) ? input : []
  const error = errorIn(previous)
  const rest = error ? all.slice(0, 1) : all.slice(1)
  const single = previous === undefined ? [] : [error ? error.error.message : previous]
  const isTaken = [single, ...(Array.isArray(previous) ? [previous] : [])].some(added =>
    isDeepStrictEqual(rest, added),
  )
  return isTaken ? undefined : `${id} is given the further arguments ${JSON.stringify(rest)}`
}
