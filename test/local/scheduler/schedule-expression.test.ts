import { expect, it } from 'vitest'
import { nextFiring, readExpression } from '../../../local/scheduler/schedules.ts'

const begin = Date.parse('2026-11-20T10:00:30Z')

it.each([
  ['at(2026-12-01T08:00:00)', 'UTC', '2026-12-01T08:00:00Z'],
  ['at(2026-12-01T08:00:00)', 'Europe/Berlin', '2026-12-01T07:00:00Z'],
  ['at(2027-07-01T08:00:00)', 'America/New_York', '2027-07-01T12:00:00Z'],
  ['rate(1 minute)', 'UTC', '2026-11-20T10:01:30Z'],
  ['rate(3 hours)', 'UTC', '2026-11-20T13:00:30Z'],
  ['rate(1 day)', 'UTC', '2026-11-21T10:00:30Z'],
  ['cron(0/15 * * * ? *)', 'UTC', '2026-11-20T10:15:00Z'],
  ['cron(0 9 ? * MON-FRI *)', 'Europe/Berlin', '2026-11-23T08:00:00Z'],
  ['cron(0 9 ? * 2-6 *)', 'Europe/Berlin', '2026-11-23T08:00:00Z'],
  ['cron(0 12 L * ? *)', 'UTC', '2026-11-30T12:00:00Z'],
  ['cron(0 12 ? * 6#1 *)', 'UTC', '2026-12-04T12:00:00Z'],
  ['cron(30 7 1 1 ? 2028)', 'UTC', '2028-01-01T07:30:00Z'],
])('%s in %s is next at %s', (expression, timezone, expected) => {
  const timing = readExpression(expression, timezone)

  const next = timing && nextFiring(timing, begin, begin)

  expect(next && new Date(next).toISOString()).toBe(expected.replace('Z', '.000Z'))
})

it.each([
  '',
  'at(2026-12-01)',
  'rate(0 minutes)',
  'rate(5 seconds)',
  'cron(* * * * * *)',
  'cron(0 9 * * MON)',
  'x(1)',
])('"%s" is not a schedule expression', expression => {
  expect(readExpression(expression)).toBeUndefined()
})
