import type { LimitLook } from '../../../shared/core/limits/line.ts'
import type { JobLook } from '../../../shared/core/types/task-type.ts'
import type {
  CanvasLook,
  Dispatch,
  FarTimers,
  Look,
  Messages,
  MinuteLook,
} from '../../../shared/ports/messages.ts'

/** Keeps messages instead of sending them, in order, and reports the backlogs that a test sets. */
export type MemoryMessages = Messages & {
  readonly dispatches: Dispatch[]
  readonly looks: Look[]
  readonly minuteLooks: MinuteLook[]
  readonly canvasLooks: CanvasLook[]
  readonly jobLooks: JobLook[]
  readonly limitLooks: LimitLook[]
  /** The backlog of each type. A type that is missing here has no queue. */
  readonly backlogs: Map<string, number>
  /** The number of messages in the jobs queue that `waitingJobs` reports. */
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

/** Far timers that never fire. They keep the minutes for which an EventBridge schedule was requested. */
export function createMemoryFarTimers(): FarTimers & { readonly minutes: Set<number> } {
  const minutes = new Set<number>()
  return {
    minutes,
    ensureMinute: async minute => {
      minutes.add(minute)
    },
  }
}
