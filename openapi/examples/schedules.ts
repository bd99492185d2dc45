import { prepares, type Step, shows } from './exchange.ts'

const NIGHTLY = {
  cron: '30 2 * * *',
  timezone: 'Europe/Berlin',
  task: { type: 'resize', input: { url: 'https://example.com/report.jpg', width: 200 } },
}

/** A schedule is created, changed, paused, triggered and removed. */
export const scheduleSteps: readonly Step[] = [
  shows('putSchedule', 'created', 201, 'Every night at half past two', { body: NIGHTLY }),
  shows('putSchedule', 'replaced', 200, 'An hour later, if nobody else has changed it', {
    body: { ...NIGHTLY, cron: '30 3 * * *', ifRevision: 1 },
  }),
  shows('putSchedule', 'stale', 409, 'Another operator has changed it since it was read', {
    body: { ...NIGHTLY, ifRevision: 1 },
  }),
  shows('putSchedule', 'invalid', 400, 'An hour and a timezone that do not exist', {
    body: { ...NIGHTLY, cron: '30 25 * * *', timezone: 'Europe/Berlino' },
  }),
  shows('putSchedule', 'unknown-type', 404, 'A task of a type that is not registered', {
    body: { everyMs: 3_600_000, task: { type: 'resise' } },
  }),
  shows('getSchedule', 'found', 200, 'A schedule'),
  shows('getSchedule', 'not-found', 404, 'A schedule that does not exist', { path: { name: 'nightly' } }),
  shows('listSchedules', 'page', 200, 'The next schedules', { query: { limit: 10 } }),
  shows('pauseSchedule', 'paused', 200, 'A schedule is paused', { body: {} }),
  shows('resumeSchedule', 'resumed', 200, 'The pause ends', { body: {} }),
  shows('triggerSchedule', 'triggered', 202, 'Its task is published now', { body: {} }),
  shows('triggerSchedule', 'not-found', 404, 'A schedule that does not exist', {
    path: { name: 'nightly' },
    body: {},
  }),
  prepares('putSchedule', 'pulse', 201, {
    path: { name: 'pulse' },
    body: { everyMs: 1_000, task: { type: 'report' } },
  }),
  { path: '/v1/schedules/pulse/ticks', until: ({ items }) => items.length > 1 },
  shows('listTicks', 'page', 200, 'The last tick and its task', {
    path: { name: 'pulse' },
    query: { limit: 1 },
  }),
  prepares('removeSchedule', 'pulse', 204, { path: { name: 'pulse' } }),
  shows('removeSchedule', 'removed', 204, 'A schedule is removed'),
  shows('removeSchedule', 'not-found', 404, 'It is removed already'),
]
