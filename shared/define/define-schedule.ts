import type { ScheduleBody } from '../api/schedules.ts'

/**
 * When a schedule ticks, and the task that each tick publishes: `report.with(input)`, whose input is typed by the definition. The fields
 * are the same as in `PUT /v1/schedules/{name}`. Give exactly one of `cron`, `everyMs` and `at`.
 */
export type ScheduleFields = Omit<ScheduleBody, 'ifRevision'>

/** A schedule in code, as `defineSchedule` returns it. */
export type ScheduleDefinition = {
  /** Distinguishes the definition of a schedule from the definitions of tasks and flows. */
  readonly kind: 'baton-schedule'
  /** The name of the schedule. */
  readonly name: string
  /** When it ticks, and what it publishes. */
  readonly schedule: ScheduleFields
}

/**
 * Defines a schedule that deployments keep. Export it from the file of a task or flow that an app adds, or give it to
 * `TaskSystem.addSchedule`. A deployment creates the schedule, changes it, and removes it when it is gone from the code.
 *
 * ```ts
 * export const nightly = defineSchedule('nightly', {
 *   cron: '0 3 * * *',
 *   timezone: 'Europe/Berlin',
 *   task: report.with({ days: 1 }),
 * })
 * ```
 *
 * Synthesis and the testing kit check the fields by the rules of the API, and name each wrong field.
 */
export function defineSchedule(name: string, schedule: ScheduleFields): ScheduleDefinition {
  return { kind: 'baton-schedule', name, schedule }
}
