import type { Head } from '../../../../shared/core/task/head.ts'
import type { Task } from '../../../../shared/core/task/task.ts'
import type { Step } from '../../scenario.ts'
import type { HistoryEvent } from '../../world/history.ts'
import { START } from '../../world/world.ts'
import type { Invariant } from '../invariant.ts'

/** Promises about the births of a key, and about answers that concern them. */
export const BIRTH_INVARIANTS: readonly Invariant[] = [
  {
    name: 'no write of an earlier birth of a key changes a later birth',
    watch: () => {
      const past = new Set<string>()
      return {
        on: event => (event.what === 'write' ? judgeBirth(event, past) : undefined),
      }
    },
  },
  {
    name: 'no claim of a task succeeds after its cancel or its removal was acknowledged',
    watch: () => {
      const endedBirths = new Set<string>()
      /** The revision of each task's last resume. An acknowledgement may come after it. */
      const resumed = new Map<string, number>()
      return {
        on: event => {
          const ended = endedBirth(event)
          if (ended && ended.revision >= (resumed.get(birth(ended)) ?? 0)) endedBirths.add(birth(ended))
          if (event.what !== 'write') return undefined
          const { after } = event
          if (after.operation === 'resume') {
            endedBirths.delete(birth(after))
            resumed.set(birth(after), after.revision)
          }
          const isUndo = after.flow?.direction === 'undo'
          return after.operation === 'claim' && !isUndo && endedBirths.has(birth(after))
            ? `${after.id} was claimed after its end was acknowledged`
            : undefined
        },
      }
    },
  },
  {
    name: 'a removal that was acknowledged has been written',
    watch: () => {
      const removals = new Map<string, number>()
      return {
        on: event => {
          const { what, at } = event
          if (what === 'write' && event.after.operation === 'remove') removals.set(event.after.id, at)
          if (what !== 'answer' || !event.answer.ok || event.step.do !== 'remove') return undefined
          const { step } = event
          const isWritten = (removals.get(step.id) ?? 0) >= START + step.at
          return isWritten ? undefined : `the removal of ${step.id} was acknowledged, but not written`
        },
      }
    },
  },
  {
    name: 'a published task can be read until it is removed',
    watch: ({ steps }) => {
      const removed = new Set(steps.flatMap(mayVanish))
      const isPurged = (id: string) =>
        steps.some(step => step.do === 'purge' && id.startsWith(`${step.type}:`))
      const published = new Map<string, number>()
      return {
        on: event => {
          if (event.what !== 'answer') return undefined
          const { step, answer, at } = event
          if (step.do === 'publish' && answer.ok && answer.task) published.set(answer.task.id, at)
          if (step.do !== 'read' || answer.ok || removed.has(step.id)) return undefined
          const since = published.get(step.id) ?? Number.POSITIVE_INFINITY
          const isMissing = since < START + step.at && !isPurged(step.id)
          return isMissing ? `${step.id} was published, but is not found` : undefined
        },
      }
    },
  },
  {
    name: 'a task in an answer has been written before',
    watch: () => {
      const written = new Set<string>()
      return {
        on: event => {
          if (event.what === 'write') written.add(version(event.after))
          if (event.what !== 'answer' || !event.answer.ok || !event.answer.task) return undefined
          const { task } = event.answer
          return written.has(version(task))
            ? undefined
            : `the answer to ${event.step.do} shows ${version(task)}, which was never written`
        },
      }
    },
  },
]

/** The birth that ends with this event: its removal was written, or its cancel acknowledged. */
function endedBirth(event: HistoryEvent): Head | undefined {
  if (event.what === 'write') {
    const { before, after } = event
    return before && after.operation === 'remove' ? before : undefined
  }
  if (event.what !== 'answer' || event.step.do !== 'cancel' || !event.answer.ok) return undefined
  return event.answer.task
}

/** The tasks that a step removes, or that are retained for a short time only. */
function mayVanish(step: Step): string[] {
  if (step.do === 'remove') return [step.id]
  const isShort = step.do === 'publish' && step.request.options?.retentionMs !== undefined
  return isShort ? [`${step.request.type}:${step.request.key}`] : []
}

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

function birth({ id, born }: Pick<Head, 'id' | 'born'>): string {
  return `${id} ${born}`
}

function version(task: Head): string {
  return `${birth(task)} r${task.revision}`
}
