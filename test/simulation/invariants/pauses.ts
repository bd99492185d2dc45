import type { Task } from '../../../shared/core/task/task.ts'
import type { Step } from '../scenario.ts'
import type { HistoryEvent } from '../world/history.ts'
import { START } from '../world/world.ts'
import type { Invariant, Write } from './invariant.ts'
import { claimIn, servingTypeOf } from './pieces.ts'

/** Whatever waits is sent again at once, and once more 5 s later, since an index may show it late. */
const RESUMED_WITHIN_MS = 12_000
/** A call that was slow in the end of the storm keeps its process so long. */
const SLOW_MS = 18_000

/** Promises about types that are paused and resumed. */
export const PAUSE_INVARIANTS: readonly Invariant[] = [
  {
    name: 'once a pause is acknowledged, no handler begins with what is claimed until the type is resumed',
    watch: () => {
      const pauses = acknowledgedPauses()
      /** Of runs that were claimed in a pause, which pause that was. */
      const claimedIn = new Map<string, Pause>()
      return {
        on: happening => {
          pauses.on(happening)
          const run = claimIn(happening)
          if (run) {
            const { after } = happening as Write
            const [pause] = [after.type, servingTypeOf(after)].flatMap(type => pauses.of(type) ?? [])
            if (pause) claimedIn.set(`${after.id} ${run.fence}`, pause)
          }
          if (happening.what !== 'began') return undefined
          const pause = claimedIn.get(`${happening.id} ${happening.fence}`)
          // Where the type was resumed before the claim was answered, the run may begin.
          return pause && pauses.of(pause.type) === pause
            ? `${happening.id} (fence ${happening.fence}) was claimed and begins while ${pause.type} is paused`
            : undefined
        },
      }
    },
  },
  {
    name: 'once it is calm, what has waited for the end of a pause is sent to its Lambda at once',
    watch: scenario => {
      const { types, steps, weather, calmAt } = scenario
      const byLambda = new Set(types.flatMap(({ type, servedBy }) => (servedBy === 'lambda' ? [type] : [])))
      // A queue that is gone takes no messages, and whoever dies or freezes keeps his for long.
      const isJudged = weather.freeze + weather.death === 0 && steps.every(step => step.do !== 'withdraw')
      const mostMs = RESUMED_WITHIN_MS + (weather.slow > 0 ? SLOW_MS : 0)
      const resumedAt = new Map<string, number>()
      const delivered = new Map<string, number>()
      const heads = new Map<string, string>()
      const onDelivery = (task: Task, at: number) => {
        // What has changed has been sent anew; older messages come late.
        if (heads.get(task.id) !== nameOf(task)) return undefined
        const last = delivered.get(nameOf(task)) ?? 0
        delivered.set(nameOf(task), at)
        const ends = [task.type, servingTypeOf(task)].map(type => resumedAt.get(type) ?? 0)
        const resumed = Math.max(...ends)
        const since = Math.max(task.dueAt, task.updatedAt, last, START + calmAt)
        const isLate = !task.wait && resumed > since && at - resumed > mostMs
        return isLate
          ? `${task.id} was sent ${Math.round(at - resumed)} ms after its type was resumed`
          : undefined
      }
      const note = (happening: HistoryEvent) => {
        if (happening.what === 'type' && happening.type.paused)
          resumedAt.set(happening.type.type, Number.POSITIVE_INFINITY)
        if (happening.what === 'answer' && happening.step.do === 'resume-type')
          resumedAt.set(happening.step.type, happening.at)
        if (happening.what === 'write') heads.set(happening.after.id, nameOf(happening.after))
      }
      return {
        on: happening => {
          if (!isJudged) return undefined
          note(happening)
          const isByLambda = happening.what === 'delivered' && byLambda.has(servingTypeOf(happening.task))
          return isByLambda ? onDelivery(happening.task, happening.at) : undefined
        },
      }
    },
  },
]

/** One pause of a type; the next one is another object. */
type Pause = { readonly type: string }

/** Which types are known to be paused: by an answer, and nobody has resumed them since that was asked for. */
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
    // One that came in between may have made way for another pause, not yet acknowledged.
    const isOfThisPause = (resumedAt.get(step.type) ?? 0) < START + step.at
    if (isOfThisPause && !acknowledged.has(step.type)) acknowledged.set(step.type, { type: step.type })
  }
  return {
    of: (type: string) => acknowledged.get(type),
    on: (happening: HistoryEvent) => {
      if (happening.what === 'type') onType(happening)
      if (happening.what === 'answer' && happening.answer.ok) onAnswer(happening.step)
    },
  }
}

function nameOf({ id, born, revision }: Task): string {
  return `${id} ${born} ${revision}`
}
