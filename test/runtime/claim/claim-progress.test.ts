import { describe, expect, it } from 'vitest'
import { judgeClaim } from '../../../shared/core/run/claim.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import type { TypeLimits } from '../../../shared/core/types/task-type.ts'
import type { NotClaimed } from '../../../shared/runtime/claim/claim.ts'
import type { ClaimScope, Progress } from '../../../shared/runtime/claim/claim-progress.ts'
import {
  isHeldBack,
  leftOf,
  mayReadMore,
  NOTHING_DONE,
  withAnswer,
  withVerdict,
} from '../../../shared/runtime/claim/claim-progress.ts'
import { aRun, aTask, aType, NOW } from '../../support/tasks/a-task.ts'

const RATE = { rate: { limit: 1, perMs: 1_000 } }
const CONCURRENCY = { concurrency: { max: 1 } }
const BY_USER = { rate: { limit: 1, perMs: 1_000, key: 'userId' } }

/** A call that claims tasks of a type with these limits. */
function aScope(limits: TypeLimits = {}, isForTickets = false): ClaimScope {
  const configuration = { kind: 'http', defaults: {}, shards: 1, limits } as const
  return { types: [aType({ configuration, handlerSince: NOW })], isForTickets }
}

const ready = (key: string, parts: object = {}): Task => {
  const task = aTask({ key, kind: 'http', ...parts })
  return { ...task, place: { name: 'ready#resize#0', order: key } }
}
const refusal = (refused: NotClaimed['refused'], more: object = {}): NotClaimed => ({
  refused,
  lostToOthers: false,
  ...more,
})
const RATE_REFUSAL = refusal('rate-limit', { limit: 'resize', notBefore: NOW + 9 })
const PERMIT_REFUSAL = refusal('concurrency-limit', { limit: 'resize' })
const afterAnswer = (scope: ClaimScope, task: Task, answer: NotClaimed, before: Progress = NOTHING_DONE) =>
  withAnswer(scope, before, task, answer)

describe('a call that claims ten tasks', () => {
  it.each([
    ['asks for ten, without a refusal', aScope(), refusal('gone'), 10],
    ['asks for none, when a limit of all tasks is used up', aScope(RATE), RATE_REFUSAL, 0],
    ['asks for none, when no permit is left', aScope(CONCURRENCY), PERMIT_REFUSAL, 0],
    [
      'asks for ten, when the limit of one user is used up',
      aScope(BY_USER),
      refusal('rate-limit', { limit: 'resize=u' }),
      10,
    ],
    ['asks for ten, when the type is paused for a while', aScope(), refusal('paused'), 10],
    ['for tickets asks for none, when no permit is left', aScope(CONCURRENCY, true), PERMIT_REFUSAL, 0],
    [
      'for tickets asks for one less, when a task waits for a limit with a key',
      aScope(BY_USER, true),
      refusal('rate-limit', { limit: 'resize=u' }),
      9,
    ],
  ])('%s', (_case, scope, answer, left) => {
    expect(leftOf(scope, 10, afterAnswer(scope, ready('a'), answer))).toBe(left)
  })

  it('knows when a start is possible again', () => {
    const early = afterAnswer(aScope(RATE), ready('a'), RATE_REFUSAL)
    const both = afterAnswer(aScope(RATE), ready('b'), { ...RATE_REFUSAL, notBefore: NOW + 5 }, early)

    expect([NOTHING_DONE, early, both].map(one => one.heldBack.nextSlotAt)).toEqual([
      Number.POSITIVE_INFINITY,
      NOW + 9,
      NOW + 5,
    ])
  })

  it.each([
    [
      'another task of the same user',
      aScope(BY_USER),
      refusal('rate-limit', { limit: 'resize=u' }),
      { userId: 'u' },
      true,
    ],
    [
      'no task of another user',
      aScope(BY_USER),
      refusal('rate-limit', { limit: 'resize=u' }),
      { userId: 'v' },
      false,
    ],
    ['another task of a paused type', aScope(), refusal('paused'), {}, true],
    ['no task after a lost race', aScope(), refusal('gone'), {}, false],
    ['another task under a used-up limit', aScope(CONCURRENCY), PERMIT_REFUSAL, {}, true],
    ['for tickets, another task under it', aScope(CONCURRENCY, true), PERMIT_REFUSAL, {}, true],
    [
      'for tickets, no task of the same user, so that each joins the line',
      aScope(BY_USER, true),
      refusal('rate-limit', { limit: 'resize=u' }),
      { userId: 'u' },
      false,
    ],
  ])('holds back %s', (_case, scope, answer, parts, expected) => {
    const { heldBack } = afterAnswer(scope, ready('a', { userId: 'u' }), answer)

    expect(isHeldBack(heldBack, ready('b', parts), scope)).toBe(expected)
  })

  it.each([
    ['tries', { kind: 'try', judged: judgeClaim(ready('a'), { workerId: 'w1' }, NOW) }, 1, undefined],
    ['knows to be held back', { kind: 'held-back' }, 1 / 4, 'resize:a'],
    ['may not claim', { kind: 'not-claimable' }, 1, 'resize:a'],
    ['could not write lately', { kind: 'at-fault' }, 1, undefined],
  ] as const)('examines a candidate that it %s', (_case, verdict, examined, passedOver) => {
    const progress = withVerdict(aScope(), NOTHING_DONE, ready('a'), verdict)

    expect([progress.examined, progress.passedOver?.id]).toEqual([examined, passedOver])
  })

  it('remembers up to a hundred tasks that limits hold back, which then join the lines of their limits', () => {
    const behind = Array.from({ length: 150 }, (_, nth) => ready(`k${nth}`))
    const progress = behind.reduce(
      (so, task) => withVerdict(aScope(BY_USER), so, task, { kind: 'held-back' }),
      NOTHING_DONE,
    )

    expect(progress.behindLimits.map(({ key }) => key)).toEqual(behind.slice(0, 100).map(({ key }) => key))
  })

  it('remembers the first waiting task that it passes over, and none that an index shows late', () => {
    const taken = {
      ...aTask({ key: 'taken', live: [aRun({})] }),
      place: { name: 'running#resize#0', order: '1' },
    }
    const verdict = { kind: 'not-claimable' } as const
    const scope = aScope()

    const progress = [taken, ready('a'), ready('b')].reduce(
      (so, task) => withVerdict(scope, so, task, verdict),
      NOTHING_DONE,
    )

    expect(progress.passedOver?.key).toBe('a')
  })

  it('reads no more ready tasks after 1,000 candidates, or when all are held back', () => {
    const { heldBack } = afterAnswer(aScope(RATE), ready('a'), RATE_REFUSAL)

    expect(mayReadMore(aScope(RATE), { ...NOTHING_DONE, examined: 999 })).toBe(true)
    expect(mayReadMore(aScope(RATE), { ...NOTHING_DONE, examined: 1_000 })).toBe(false)
    expect(mayReadMore(aScope(RATE), { ...NOTHING_DONE, heldBack })).toBe(false)
  })
})
