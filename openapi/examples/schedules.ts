import { prepares, type Step } from './exchange.ts'

const NIGHTLY = {
  cron: '30 2 * * *',
  timezone: 'Europe/Berlin',
  task: { type: 'resize', input: { url: 'https://example.com/report.jpg', width: 200 } },
}

/** A schedule is created, changed, paused, triggered and removed. */
export const scheduleSteps: readonly Step[] = [
  {
    operation: 'putSchedule',
    name: 'created',
    title: 'Every night at half past two',
    status: 201,
    asks: { body: NIGHTLY },
  },
  {
    operation: 'putSchedule',
    name: 'replaced',
    title: 'An hour later, if nobody else has changed it',
    status: 200,
    asks: { body: { ...NIGHTLY, cron: '30 3 * * *', ifRevision: 1 } },
  },
  {
    operation: 'putSchedule',
    name: 'stale',
    title: 'Another operator has changed it since it was read',
    status: 409,
    asks: { body: { ...NIGHTLY, ifRevision: 1 } },
  },
  {
    operation: 'putSchedule',
    name: 'invalid',
    title: 'An hour and a timezone that do not exist',
    status: 400,
    asks: { body: { ...NIGHTLY, cron: '30 25 * * *', timezone: 'Europe/Berlino' } },
  },
  {
    operation: 'putSchedule',
    name: 'unknown-type',
    title: 'A task of a type that is not registered',
    status: 404,
    asks: { body: { everyMs: 3_600_000, task: { type: 'resise' } } },
  },
  { operation: 'getSchedule', name: 'found', title: 'A schedule', status: 200, asks: {} },
  {
    operation: 'getSchedule',
    name: 'not-found',
    title: 'A schedule that does not exist',
    status: 404,
    asks: { path: { name: 'nightly' } },
  },
  {
    operation: 'listSchedules',
    name: 'page',
    title: 'The next schedules',
    status: 200,
    asks: { query: { limit: 10 } },
  },
  {
    operation: 'pauseSchedule',
    name: 'paused',
    title: 'A schedule is paused',
    status: 200,
    asks: { body: {} },
  },
  { operation: 'resumeSchedule', name: 'resumed', title: 'The pause ends', status: 200, asks: { body: {} } },
  {
    operation: 'triggerSchedule',
    name: 'triggered',
    title: 'Its task is published now',
    status: 202,
    asks: { body: {} },
  },
  {
    operation: 'triggerSchedule',
    name: 'not-found',
    title: 'A schedule that does not exist',
    status: 404,
    asks: { path: { name: 'nightly' }, body: {} },
  },
  prepares('putSchedule', 'pulse', 201, {
    path: { name: 'pulse' },
    body: { everyMs: 1_000, task: { type: 'report' } },
  }),
  { path: '/v1/schedules/pulse/ticks', until: ({ items }) => items.length > 1 },
  {
    operation: 'listTicks',
    name: 'page',
    title: 'The last tick and its task',
    status: 200,
    asks: { path: { name: 'pulse' }, query: { limit: 1 } },
  },
  prepares('removeSchedule', 'pulse', 204, { path: { name: 'pulse' } }),
  { operation: 'removeSchedule', name: 'removed', title: 'A schedule is removed', status: 204, asks: {} },
  { operation: 'removeSchedule', name: 'not-found', title: 'It is removed already', status: 404, asks: {} },
]
