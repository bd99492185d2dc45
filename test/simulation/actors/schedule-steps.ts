import type { ScheduledTask } from '../../../shared/api/schedules.ts'
import type { Timing } from '../../../shared/core/task/head-fields.ts'
import type { System } from '../../../shared/runtime/kernel/system.ts'
import { listSchedules, readSchedule } from '../../../shared/runtime/schedule/read-schedules.ts'
import {
  pauseSchedule,
  putSchedule,
  removeSchedule,
  resumeSchedule,
  triggerSchedule,
} from '../../../shared/runtime/schedule/schedule.ts'
import type { Job, Step } from '../scenario.ts'
import type { Answer } from '../world/history.ts'
import { START } from '../world/world.ts'
import { requestOfJob } from './requests.ts'

export type ScheduleStep = Extract<Step, { readonly schedule: string }>

/** Does what the API's schedule routes do. */
export async function operateSchedule(system: System, step: ScheduleStep): Promise<Answer> {
  const id = `schedule:${step.schedule}`
  switch (step.do) {
    case 'put-schedule': {
      const { schedule, timing, missed, graceMs, job } = step
      const outcome = await putSchedule(system, schedule, {
        timing: fromStart(timing),
        missed,
        graceMs,
        task: bodyOf(job),
      })
      return outcome.ok ? { ok: true, created: outcome.created, task: outcome.task } : outcome
    }
    case 'pause-schedule':
      return pauseSchedule(system, id)
    case 'resume-schedule':
      return resumeSchedule(system, id)
    case 'remove-schedule':
      return removeSchedule(system, id)
    case 'trigger-schedule':
      return triggerSchedule(system, id)
    case 'read-schedule': {
      await listSchedules(system, { limit: 10 })
      const found = await readSchedule(system, id)
      return found ? { ok: true } : { ok: false, reason: 'unknown' }
    }
  }
}

function fromStart(timing: Timing): Timing {
  return timing.kind === 'at' ? { kind: 'at', at: START + timing.at } : timing
}

/** The task of a schedule, in the shape in which the API takes it. */
function bodyOf(job: Job): ScheduledTask {
  const { options, delayMs: _delayMs, onSuccess: _then, onError: _else, ...plain } = requestOfJob(job)
  return { ...plain, ...options } as ScheduledTask
}
