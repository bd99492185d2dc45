import { pathOf } from '../api/endpoints.ts'
import { refuseFields } from '../core/rules/type-configuration.ts'
import { SCHEDULE_TYPE } from '../core/task/head-fields.ts'
import { taskId } from '../core/task/task.ts'
import { BatonError } from '../core/values/values.ts'
import type { System } from '../runtime/kernel/system.ts'
import { putSchedule, removeSchedule } from '../runtime/schedule/schedule.ts'
import { unknownTypes } from './present/problems.ts'
import { readSchedule } from './requests/publish-requests.ts'

/**
 * Creates or replaces a schedule for the deployment of the stack `managedBy`. A pause stays. A single time that has passed leaves no
 * schedule: an older version of the code may have it, and its deployment must succeed when CloudFormation rolls back.
 *
 * @throws BatonError `invalid`, naming the schedule and each wrong field; `refused` when a schedule of this name was made over HTTP.
 */
export async function deploySchedule(
  system: System,
  name: string,
  body: unknown,
  managedBy: string,
): Promise<void> {
  const what = `schedule '${name}'`
  const now = system.clock.now()
  const request = readSchedule(name, body, now)
  const { timing } = request
  const outcome = await putSchedule(system, name, { ...request, managedBy })
  if (outcome.ok) return
  switch (outcome.reason) {
    case 'unknown-type':
      return refuseFields(what, unknownTypes(outcome.unknown, outcome.existing).errors ?? [])
    case 'invalid':
      if (timing.kind === 'at' && timing.at <= now) return removeDeployedSchedule(system, name, managedBy)
      return refuseFields(what, outcome.problems)
    default:
      throw new BatonError(
        'refused',
        `${what} exists already: it was made over HTTP. Remove it by DELETE ${pathOf('removeSchedule', name)}, or give the schedule in code another name`,
      )
  }
}

/** Removes a schedule that a deployment keeps. A schedule that was made over HTTP stays. */
export async function removeDeployedSchedule(system: System, name: string, managedBy: string): Promise<void> {
  await removeSchedule(system, taskId(SCHEDULE_TYPE, name), { managedBy })
}
