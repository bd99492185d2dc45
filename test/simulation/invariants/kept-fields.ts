import type { Task } from '../../../shared/core/task/task.ts'
import type { Step } from '../scenario.ts'
import type { Invariant } from './invariant.ts'

/** What says where a task stands, whose it is and by which limits it is counted. */
const PLACING = ['fairnessKey', 'userId', 'priority', 'tags'] as const

/** Promises about what stays with a task. */
export const KEPT_FIELD_INVARIANTS: readonly Invariant[] = [
  {
    name: 'a restart keeps all that places or limits its task',
    watch: ({ steps }) => {
      const republished = new Set(steps.flatMap(restartedByPublish))
      return {
        on: event => {
          if (event.what !== 'write') return undefined
          const { before, after } = event
          if (!before || after.operation !== 'restart' || republished.has(after.id)) return undefined
          const lost = PLACING.find(name => JSON.stringify(before[name]) !== JSON.stringify(after[name]))
          return (
            lost &&
            `the restart of ${after.id} turned its ${lost} from ${textOf(before, lost)} to ${textOf(after, lost)}`
          )
        },
      }
    },
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
          return wrong && `${id} counts as ${wrong[0]} ${wrong[1]}, but runs with ${textIn(input[wrong[0]])}`
        },
      }
    },
  },
]

/** A publish that starts a task over brings all of this itself. */
function restartedByPublish(step: Step): string[] {
  const isRestart = step.do === 'publish' && step.request.ifExists === 'restart'
  return isRestart ? [`${step.request.type}:${step.request.key}`] : []
}

function textOf(task: Task, name: (typeof PLACING)[number]): string {
  return JSON.stringify(task[name]) ?? 'none'
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function textIn(value: unknown): string | null {
  return value === undefined ? null : String(value)
}
