import { type CreateScheduleCommand, SchedulerClient } from '@aws-sdk/client-scheduler'
import { expect, it } from 'vitest'
import { createFarTimers } from '../../shared/aws/far-timers.ts'
import { minuteOf } from '../../shared/core/place/place.ts'
import { createManualClock } from '../support/ports/clock.ts'
import { HOUR, NOW, SECOND } from '../support/tasks/a-task.ts'

const target = { group: 'g', roleArn: 'r', queueArn: 'q', deadLetterArn: 'd', message: String }
const MINUTE_AFTER = minuteOf(NOW + HOUR)

/** A client that records its requests and answers them, or throws while the service is down. */
function aClient(isDown: () => boolean) {
  const requested: (string | undefined)[] = []
  const client = new SchedulerClient({ region: 'us-east-1', maxAttempts: 1 })
  client.middlewareStack.add(
    () => async args => {
      requested.push((args.input as CreateScheduleCommand['input']).Name)
      if (isDown()) throw new Error('no answer')
      return { output: { $metadata: {} }, response: undefined }
    },
    { step: 'initialize' },
  )
  return { client, requested }
}

it('a process creates the EventBridge schedule of a minute once', async () => {
  const { client, requested } = aClient(() => false)
  const timers = createFarTimers(client, createManualClock(NOW), target)

  for (let nth = 0; nth < 3; nth++) await timers.ensureMinute(MINUTE_AFTER)

  expect(requested).toEqual([`minute-${MINUTE_AFTER}`])
})

it('after a failure, far timers send no request for ten seconds', async () => {
  let isDown = true
  const clock = createManualClock(NOW)
  const { client, requested } = aClient(() => isDown)
  const timers = createFarTimers(client, clock, target)

  await expect(timers.ensureMinute(MINUTE_AFTER)).rejects.toMatchObject({ code: 'unavailable' })
  isDown = false
  await expect(timers.ensureMinute(MINUTE_AFTER + 1)).rejects.toMatchObject({ code: 'unavailable' })
  await clock.advance(10 * SECOND)
  await timers.ensureMinute(MINUTE_AFTER)

  expect(requested).toEqual([`minute-${MINUTE_AFTER}`, `minute-${MINUTE_AFTER}`])
})
