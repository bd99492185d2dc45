import type { Task } from '../../../../shared/core/task/task.ts'
import { allJobs } from '../../jobs-in.ts'
import type { Step } from '../../scenario.ts'
import type { Invariant } from '../invariant.ts'

/** The fields that decide a task's index entries, its tenant, and the limits that count it. */
const KEPT_FIELDS = ['fairnessKey', 'userId', 'priority', 'tags'] as const

/** Promises about fields of a task that other operations must keep. */
export const KEPT_FIELD_INVARIANTS: readonly Invariant[] = [
  {
    name: 'a restart keeps the fairness key, user, priority and tags of its task',
    watch: ({ steps }) => {
      const republished = new Set([
        ...steps.flatMap(restartedByPublish),
        ...allJobs(steps).map(({ type, key }) => `${type}:${key}`),
      ])
      return {
        on: event => {
          if (event.what !== 'write') return undefined
          const { before, after } = event
          if (!before || after.operation !== 'restart' || republished.has(plainId(after.id))) return undefined
          const lost = KEPT_FIELDS.find(name => JSON.stringify(before[name]) !== JSON.stringify(after[name]))
          return (
            lost &&
            `the restart of ${after.id} changed its ${lost} from ${textOf(before, lost)} to ${textOf(after, lost)}`
          )
        },
      }
    },
  },
  {
    name: 'the machinery never changes the revision that callers see',
    watch: () => ({
      on: event => {
        if (event.what !== 'write') return undefined
        const { before, after } = event
        if (before?.born !== after.born || before.edits === after.edits) return undefined
        // A change that records its principal is not work of the machinery. See `edits.ts`.
        if (isRecorded(before, after)) return undefined
        return `${after.operation} changed the revision of ${after.id} from ${before.edits} to ${after.edits}`
      },
    }),
  },
  {
    name: 'limits count a task by the input that its handler is given',
    watch: () => {
      const heads = new Map<string, Task>()
      return {
        on: event => {
          if (event.what === 'write') heads.set(event.after.id, event.after)
          if (event.what !== 'began') return undefined
          const { id, input, fence } = event
          const head = heads.get(id)
          if (!head?.live[fence] || head.flow || !isRecord(input)) return undefined
          const wrong = Object.entries(head.limitValues ?? {}).find(
            ([field, value]) => value !== textIn(input[field]),
          )
          return (
            wrong &&
            `limits count ${id} as ${wrong[0]} ${wrong[1]}, but its handler was given ${textIn(input[wrong[0]])}`
          )
        },
      }
    },
  },
]

/** A publish that restarts a task sets all these fields itself. */
function restartedByPublish(step: Step): string[] {
  if (step.do !== 'publish') return []
  const { type, key, ifExists, debounce, throttle } = step.request
  return ifExists === 'restart' || debounce || throttle ? [`${type}:${key}`] : []
}

/** The id without the number by which a debounced publish follows a running task. */
function plainId(id: string): string {
  return id.replace(/~\d+$/, '')
}

function textOf(task: Task, name: (typeof KEPT_FIELDS)[number]): string {
  return JSON.stringify(task[name]) ?? 'none'
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function textIn(value: unknown): string | null {
  return value === undefined ? null : String(value)
}

function isRecorded(before: Task, after: Task): boolean {
  const last = ({ operations = [] }: Task) => JSON.stringify(operations.at(-1))
  return last(before) !== last(after)
}
