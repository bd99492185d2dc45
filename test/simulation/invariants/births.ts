import type { Task } from '../../../shared/core/task.ts'
import { START } from '../world/world.ts'
import type { Invariant } from './invariant.ts'

/** Promises about the births of a key, and about what outsiders were told of them. */
export const OF_BIRTHS: readonly Invariant[] = [
  {
    name: 'nothing of an earlier birth of a key touches a later one',
    watch: () => {
      const past = new Set<string>()
      return {
        on: happening => (happening.what === 'write' ? judgeBirth(happening, past) : undefined),
      }
    },
  },
  {
    name: 'no claim of a task succeeds after its cancel or its removal was acknowledged',
    watch: () => {
      const over = new Set<string>()
      return {
        on: happening => {
          if (happening.what === 'write') {
            const { after } = happening
            const isClaim = after.operation === 'claim' && over.has(birth(after))
            return isClaim ? `${after.id} was claimed after its end was acknowledged` : undefined
          }
          if (happening.what !== 'answer' || !happening.answer.ok) return undefined
          const { step, answer } = happening
          if (step.do === 'cancel' && answer.task) over.add(birth(answer.task))
          return undefined
        },
      }
    },
  },
  {
    name: 'what was published is there until it is removed',
    watch: ({ steps }) => {
      const removed = new Set(steps.flatMap(step => (step.do === 'remove' ? step.id : [])))
      const published = new Map<string, number>()
      return {
        on: happening => {
          if (happening.what !== 'answer') return undefined
          const { step, answer, at } = happening
          if (step.do === 'publish' && answer.ok && answer.task) published.set(answer.task.id, at)
          if (step.do !== 'read' || answer.ok || removed.has(step.id)) return undefined
          const since = published.get(step.id)
          const isMissing = since !== undefined && since < START + step.at
          return isMissing ? `${step.id} was published, and is not found` : undefined
        },
      }
    },
  },
  {
    name: 'what an answer shows has been written',
    watch: () => {
      const written = new Set<string>()
      return {
        on: happening => {
          if (happening.what === 'write') written.add(version(happening.after))
          if (happening.what !== 'answer' || !happening.answer.ok || !happening.answer.task) return undefined
          const { task } = happening.answer
          return written.has(version(task))
            ? undefined
            : `the answer to ${happening.step.do} shows ${version(task)}, which was never written`
        },
      }
    },
  },
]

function judgeBirth(
  { before, after }: { readonly before: Task | undefined; readonly after: Task },
  past: Set<string>,
): string | undefined {
  if (past.has(birth(after)))
    return `${after.operation} of ${after.id} was written for the past birth ${after.born}`
  if (!before || before.born === after.born) return undefined
  past.add(birth(before))
  const begins = after.operation === 'publish' || after.operation === 'restart'
  if (!begins) return `${after.operation} began a new birth of ${after.id}`
  const wasRunning = before.state === 'open' && Object.keys(before.live).length > 0
  return wasRunning
    ? `${after.operation} began a new birth of ${after.id} while the last one was running`
    : undefined
}

function birth({ id, born }: Task): string {
  return `${id} ${born}`
}

function version(task: Task): string {
  return `${birth(task)} r${task.revision}`
}
