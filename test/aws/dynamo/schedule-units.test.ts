import { describe, expect, it } from 'vitest'
import type { Change } from '../../../shared/core/change.ts'
import { createSchedule, noteTicked, pauseSchedule, resumeSchedule } from '../../../shared/core/schedule.ts'
import { isSchedule } from '../../../shared/core/task/head.ts'
import type { Schedule } from '../../../shared/core/task/head-fields.ts'
import { aMeteredDynamo } from '../../support/dynamo/metered-dynamo.ts'
import { totalOf } from '../../support/dynamo/unit-meter.ts'
import { BORN, changeOf, DAY, MINUTE, NOW } from '../../support/tasks/a-task.ts'

const dynamo = aMeteredDynamo()

const LONG_CRON = `0 ${Array.from({ length: 60 }, (_, minute) => minute).join(',')} 0-23 * * MON-FRI`

function aSchedule(next: number): Change {
  const definition = {
    timing: { kind: 'cron', cron: LONG_CRON, timezone: 'America/Argentina/ComodRivadavia' } as const,
    missed: { catchUp: 1_000 },
    graceMs: 86_400_000,
    taskType: 'a-task-type-with-a-rather-long-name',
    task: { type: 'a-task-type-with-a-rather-long-name', input: { text: 'x'.repeat(120) } },
  }
  return createSchedule(
    { name: 'a-schedule-with-a-name-of-forty-letters-', born: BORN, definition, next },
    undefined,
    NOW,
  )
}

function ticked(task: Schedule, next: number): Change<Schedule> {
  return changeOf(noteTicked(task, { next, ranAt: task.dueAt, error: undefined }, task.dueAt))
}

describe('a schedule in DynamoDB', () => {
  it.each([
    ['that is due again soon', NOW + MINUTE, NOW + 2 * MINUTE, [2, 3, 3, 3]],
    ['that is due again far ahead', NOW + DAY, NOW + 2 * DAY, [3, 5, 4, 4]],
  ])(
    '%s costs these units when it is set, ticks, is paused and resumed',
    async (_name, first, next, units) => {
      const { tasks } = await dynamo.newStores()
      dynamo.take()
      const spent: number[] = []
      const write = async (change: Change): Promise<Schedule> => {
        const applied = await tasks.apply(change)
        if (!applied.applied || !isSchedule(applied.head)) throw new Error('refused')
        spent.push(totalOf(dynamo.take()))
        return applied.head
      }

      const set = await write(aSchedule(first))
      const again = await write(ticked(set, next))
      const paused = await write(changeOf(pauseSchedule(again, again.updatedAt + 1)))
      const resumed = await write(changeOf(resumeSchedule(paused, paused.updatedAt + 1)))

      expect(spent).toEqual(units)
      expect(await tasks.head(set.id)).toEqual(resumed)
      expect(resumed).toMatchObject({ schedule: { lastRunAt: first, paused: false }, dueAt: next })
    },
  )
})
