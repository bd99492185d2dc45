import type { ApiTask } from '../../../../shared/api/tasks.ts'
import { type OddResultName, oddResult } from '../../odd-results.ts'
import type { HistoryEvent } from '../../world/history.ts'
import type { Invariant } from '../invariant.ts'

/** Promises about what handlers return. */
export const STORED_RESULT_INVARIANTS: readonly Invariant[] = [
  {
    name: 'a result is kept as JSON gives it, or its task fails for good with the reason',
    watch: () => {
      const given = new Map<string, OddResultName>()
      return {
        on: event => {
          if (event.what === 'ended' && event.gives) given.set(event.id, event.gives)
          const task = shownIn(event)
          const name = task && given.get(task.id)
          const problem = task && name !== undefined ? problemOf(task, name) : undefined
          return problem && `${task?.id} gave ${name}: ${problem}`
        },
      }
    },
  },
]

/** A task that has ended, as it is shown. */
function shownIn(event: HistoryEvent): ApiTask | undefined {
  if (event.what !== 'read' || event.operation !== 'get' || event.status !== 200) return undefined
  const task = event.body as ApiTask
  return task.status === 'succeeded' || task.status === 'failed' ? task : undefined
}

function problemOf({ status, result, error, runs }: ApiTask, name: OddResultName): string | undefined {
  const { stored, says } = oddResult(name)
  if (says === undefined) {
    if (status !== 'succeeded') return `it has ${status} with ${error?.message}`
    return JSON.stringify(result) === JSON.stringify(stored) ? undefined : `shown is ${shortOf(result)}`
  }
  if (status !== 'failed' || runs.length !== 1) return `it has ${status} after ${runs.length} runs`
  return error?.message.includes(says) ? undefined : `the error is ${error?.message}`
}

function shortOf(result: unknown): string {
  return String(JSON.stringify(result)).slice(0, 200)
}
