import { scheduleAnswer, schedulePage, triggerAnswer } from '../../../shared/api/schedules.ts'
import type { Operation } from './operation.ts'

const THE_SCHEDULE = { 200: { description: 'The schedule.', schema: scheduleAnswer } }

export const scheduleOperations = {
  listSchedules: {
    tag: 'Schedules',
    summary: 'List schedules',
    description:
      'Lists schedules by their next tick, paused ones last. Each shows only the type of its task.',
    answers: { 200: { description: 'One page of schedules.', schema: schedulePage } },
  },
  getSchedule: {
    tag: 'Schedules',
    summary: 'Get a schedule',
    description: 'Shows the schedule, with its last and its next tick.',
    answers: THE_SCHEDULE,
    problems: ['not-found'],
  },
  putSchedule: {
    tag: 'Schedules',
    summary: 'Create or replace a schedule',
    description:
      'Sets the whole schedule. A paused schedule stays paused. A body that equals the stored schedule changes nothing.',
    answers: {
      200: { description: 'The schedule was replaced, or is the same as before.', schema: scheduleAnswer },
      201: { description: 'The schedule was created.', schema: scheduleAnswer, location: 'the schedule' },
    },
    problems: ['unknown-type', 'stale-revision'],
  },
  removeSchedule: {
    tag: 'Schedules',
    summary: 'Remove a schedule',
    description: 'It has no further tick. The tasks that it has published stay.',
    answers: { 204: { description: 'The schedule is removed.' } },
    problems: ['not-found', 'stale-revision'],
  },
  pauseSchedule: {
    tag: 'Schedules',
    summary: 'Pause a schedule',
    description:
      'Ticks that fall into the pause are missed. The call may be repeated. A schedule that has had its last tick is refused with 409.',
    answers: THE_SCHEDULE,
    problems: ['not-found', 'conflict', 'stale-revision'],
  },
  resumeSchedule: {
    tag: 'Schedules',
    summary: 'Resume a schedule',
    description:
      'Ends the pause. The call may be repeated. A schedule that has had its last tick is refused with 409.',
    answers: THE_SCHEDULE,
    problems: ['not-found', 'conflict', 'stale-revision'],
  },
  triggerSchedule: {
    tag: 'Schedules',
    summary: 'Publish the task of a schedule now',
    description: 'The task comes in addition to those of the ticks. Each call publishes a task of its own.',
    answers: {
      202: { description: 'The task was published.', schema: triggerAnswer, location: 'the task' },
    },
    problems: ['not-found', 'unknown-type', 'conflict'],
  },
} as const satisfies Record<string, Operation>
