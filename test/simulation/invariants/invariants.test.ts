import { describe, expect, it } from 'vitest'
import type { Task } from '../../../shared/core/task/task.ts'
import { type TaskType, withTenants } from '../../../shared/core/types/task-type.ts'
import { aRun, aTask, NOW } from '../../support/tasks/a-task.ts'
import { aScenario, aType } from '../generate/trials/trial.ts'
import { createJudge } from '../simulate/judge.ts'
import { createDrivenWorld } from '../world/driven-world.ts'
import type { HistoryEvent } from '../world/history.ts'

/** What invariants must accept, besides what they must notice. */

const TYPE = aType('lambda')
const at = NOW
const byTypes = { at, by: 'the types' }
const byWorker = { at, by: 'lambda by-lambda-1' }

const aTaskOf = (key: string) => aTask({ type: TYPE.type, key })

const takes = (task: Task): HistoryEvent => ({ ...byWorker, what: 'delivered', task })

function claims(before: Task): HistoryEvent {
  const run = aRun({ workerId: 'lambda-by-lambda-1.1' })
  const after = aTask({ ...before, operation: 'claim', revision: 2, fence: 1, live: [run], ended: [] })
  return { ...byWorker, what: 'write', before, after, clock: at }
}

const getsTenants: HistoryEvent = {
  ...byTypes,
  what: 'type',
  type: { type: TYPE.type, isFair: true, configuration: { kind: 'handler' } } as TaskType,
}

function verdictOn(events: readonly HistoryEvent[]): string | undefined {
  const judge = createJudge(aScenario(1, { trial: 'reports', types: [TYPE] }))
  for (const event of events) judge.see(event)
  return judge.broken()?.invariant
}

describe('a claim by a process without a dispatch of the task', () => {
  const [one, other] = [aTaskOf('k1'), aTaskOf('k2')]
  const broken = 'a dispatch of one piece claims no other piece, unless it is a ticket of its type'

  it.each([
    ['breaks the promise if the type has no order', [takes(one), claims(other)], broken],
    ['keeps the promise if the type has tenants', [getsTenants, takes(one), claims(other)], undefined],
    [
      'keeps the promise if the type got tenants after the dispatch was received',
      [takes(one), getsTenants, claims(other)],
      undefined,
    ],
    ['breaks the promise without any dispatch of the type', [getsTenants, claims(other)], broken],
  ])('%s', (_name, events, expected) => {
    expect(verdictOn(events)).toBe(expected)
  })
})

describe('a heartbeat that is refused as removed', () => {
  const task = aTaskOf('k1')
  const published: HistoryEvent = {
    at,
    by: 'api-1',
    what: 'write',
    before: undefined,
    after: task,
    clock: at,
  }
  const refused = {
    ...{ at, by: 'h1', what: 'report-answer', id: task.id, born: task.born, fence: 1 },
    ...{ reported: 'beat', isOnlyReport: false, refused: 'removed' },
  } as HistoryEvent
  const deleted: HistoryEvent = { at, by: 'the table', what: 'expired', id: task.id }

  it.each([
    [
      'breaks the promise while the task is stored',
      [published, refused],
      'the answer to a report of a run matches what is stored',
    ],
    ['keeps the promise once the table has deleted the head', [published, deleted, refused], undefined],
  ])('%s', (_name, events, expected) => {
    expect(verdictOn(events)).toBe(expected)
  })
})

it('a type that gets its first tenant is recorded as a write of the type', async () => {
  const { services, process, until, events: told } = await createDrivenWorld()
  const { types } = services.systemFor(process())
  const type = { type: 'resize', configuration: { kind: 'handler' }, version: 1 } as TaskType
  await until(types.put(type, 0))

  await until(types.markFair(withTenants({ ...type, version: 2 }), 1))

  expect(told).toMatchObject([
    { what: 'type', type: { version: 1 } },
    { what: 'type', type: { version: 2, isFair: true } },
  ])
})
