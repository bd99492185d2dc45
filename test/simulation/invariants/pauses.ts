import type { Task } from '../../../shared/core/task/task.ts'
import type { Step } from '../scenario.ts'
import type { HistoryEvent } from '../world/history.ts'
import { START } from '../world/world.ts'
import type { Invariant, Write } from './invariant.ts'
import { claimIn, servingTypeOf } from './pieces.ts'

/**
 * Waiting tasks are dispatched at once after a resume, and again 5 s later, because an index may show them
 * late.
 */
const RESUMED_WITHIN_MS = 12_000
/** A call that was slow at the end of the storm occupies its process for this long. */
const SLOW_LATENCY_MS_MAX = 18_000

/** Promises about pausing and resuming types. */
export const PAUSE_INVARIANTS: readonly Invariant[] = [
  {
    name: 'once a pause is acknowledged, no handler begins a run that is claimed during that pause',
    watch: () => {
      const pauses = acknowledgedPauses()
      /** The runs that were claimed during a pause, and that pause. */
      const claimedIn = new Map<string, Pause>()
      return {
        on: event => {
          pauses.on(event)
          const run = claimIn(event)
          if (run) {
            const { after } = event as Write
            const [pause] = [after.type, servingTypeOf(after)].flatMap(type => pauses.of(type) ?? [])
            if (pause) claimedIn.set(`${after.id} ${run.fence}`, pause)
          }
          if (event.what !== 'began') return undefined
          const pause = claimedIn.get(`${event.id} ${event.fence}`)
          // If the type was resumed before the claim was answered, the run may start.
          return pause && pauses.of(pause.type) === pause
            ? `${event.id} (fence ${event.fence}) was claimed and began while ${pause.type} was paused`
            : undefined
        },
      }
    },
  },
  {
    name: 'once it is calm, tasks that waited during a pause are dispatched to their Lambda at once after the resume',
    watch: scenario => {
      const { types, steps, weather, calmAt } = scenario
      const byLambda = new Set(types.flatMap(({ type, servedBy }) => (servedBy === 'lambda' ? [type] : [])))
      // A withdrawn type has no queue, and a process that dies or freezes keeps its messages for long.
      const isJudged = weather.freeze + weather.death === 0 && steps.every(step => step.do !== 'withdraw')
      const mostMs = RESUMED_WITHIN_MS + (weather.slow > 0 ? SLOW_LATENCY_MS_MAX : 0)
      const resumedAt = new Map<string, number>()
      const delivered = new Map<string, number>()
      const heads = new Map<string, string>()
      const onDelivery = (task: Task, at: number) => {
        // A changed task has a new dispatch. Older messages may come late.
        if (heads.get(task.id) !== nameOf(task)) return undefined
        const last = delivered.get(nameOf(task)) ?? 0
        delivered.set(nameOf(task), at)
        const ends = [task.type, servingTypeOf(task)].map(type => resumedAt.get(type) ?? 0)
        const resumed = Math.max(...ends)
        const since = Math.max(task.dueAt, task.updatedAt, last, START + calmAt)
        const isLate = !task.wait && resumed > since && at - resumed > mostMs
        return isLate
          ? `${task.id} was dispatched ${Math.round(at - resumed)} ms after its type was resumed`
          : undefined
      }
      const note = (event: HistoryEvent) => {
        if (event.what === 'type' && event.type.paused)
          resumedAt.set(event.type.type, Number.POSITIVE_INFINITY)
        if (event.what === 'answer' && event.step.do === 'resume-type')
          resumedAt.set(event.step.type, event.at)
        if (event.what === 'write') heads.set(event.after.id, nameOf(event.after))
      }
      return {
        on: event => {
          if (!isJudged) return undefined
          note(event)
          const isByLambda = event.what === 'delivered' && byLambda.has(servingTypeOf(event.task))
          return isByLambda ? onDelivery(event.task, event.at) : undefined
        },
      }
    },
  },
]

/** One pause of a type. The next pause is another object. */
type Pause = { readonly type: string }

/** The types whose pause was acknowledged to a caller and that were not resumed since. */
function acknowledgedPauses() {
  const stored = new Set<string>()
  const resumedAt = new Map<string, number>()
  const acknowledged = new Map<string, Pause>()
  const onType = ({ at, type: { type, paused } }: Extract<HistoryEvent, { readonly what: 'type' }>) => {
    if (paused) stored.add(type)
    else if (stored.delete(type)) {
      resumedAt.set(type, at)
      acknowledged.delete(type)
    }
  }
  const onAnswer = (step: Step) => {
    if (step.do !== 'pause-type' || !stored.has(step.type)) return
    // After that pause the type may have been resumed and paused again, and the second pause is not acknowledged yet.
    const isOfThisPause = (resumedAt.get(step.type) ?? 0) < START + step.at
    if (isOfThisPause && !acknowledged.has(step.type)) acknowledged.set(step.type, { type: step.type })
  }
  return {
    of: (type: string) => acknowledged.get(type),
    on: (event: HistoryEvent) => {
      if (event.what === 'type') onType(event)
      if (event.what === 'answer' && event.answer.ok) onAnswer(event.step)
    },
  }
}

function nameOf({ id, born, revision }: Task): string {
  return `${id} ${born} ${revision}`
}
