import type { LimitLook } from '../core/limits/held-permits.ts'
import type { JobLook } from '../core/types/type-job.ts'
import type { CanvasLook, Dispatch, FarTimers, Look, Messages, MinuteLook } from '../ports/messages.ts'

/** Messages that go nowhere: what was sent, in order, and the backlogs that it reports. */
export type MemoryMessages = Messages & {
  readonly dispatches: Dispatch[]
  readonly looks: Look[]
  readonly minuteLooks: MinuteLook[]
  readonly canvasLooks: CanvasLook[]
  readonly jobLooks: JobLook[]
  readonly limitLooks: LimitLook[]
  /** By type; a type that is not in it has no queue. */
  readonly backlogs: Map<string, number>
  /** Messages that wait in the jobs queue, as `waitingJobs` reports them. */
  jobsWaiting: number
}

export function createMemoryMessages(): MemoryMessages {
  const [dispatches, looks, minuteLooks]: [Dispatch[], Look[], MinuteLook[]] = [[], [], []]
  const [canvasLooks, jobLooks, limitLooks]: [CanvasLook[], JobLook[], LimitLook[]] = [[], [], []]
  const backlogs = new Map<string, number>()
  const messages: MemoryMessages = {
    jobsWaiting: 0,
    dispatches,
    looks,
    minuteLooks,
    canvasLooks,
    jobLooks,
    limitLooks,
    backlogs,
    dispatch: async sent => {
      dispatches.push(...sent)
      return []
    },
    look: async sent => {
      looks.push(...sent)
      return []
    },
    lookAtMinute: async look => {
      minuteLooks.push(look)
    },
    lookAtCanvases: async looks => {
      canvasLooks.push(...looks)
      return []
    },
    continueJobs: async looks => {
      jobLooks.push(...looks)
      return []
    },
    lookAtLimits: async looks => {
      limitLooks.push(...looks)
      return []
    },
    backlog: async type => backlogs.get(type),
    waitingJobs: async () => messages.jobsWaiting,
  }
  return messages
}

/** Far timers that never fire: the minutes that were asked for. */
export function createMemoryFarTimers(): FarTimers & { readonly minutes: Set<number> } {
  const minutes = new Set<number>()
  return {
    minutes,
    ensureMinute: async minute => {
      minutes.add(minute)
    },
  }
}
