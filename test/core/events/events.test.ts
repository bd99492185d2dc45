import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cancelCanvas, createCanvas, endCanvas, noteProgress } from '../../../shared/core/canvas/canvas.ts'
import { type BatonEvent, eventsOf, workerEvent } from '../../../shared/core/events/events.ts'
import { resume } from '../../../shared/core/flow/resume.ts'
import { joinLine } from '../../../shared/core/limits/limits.ts'
import {
  cancel,
  recordCallbacksPublished,
  recordUnpublishable,
  remove,
  restart,
} from '../../../shared/core/operate/operate.ts'
import { patch } from '../../../shared/core/operate/patch.ts'
import { create, update } from '../../../shared/core/publish.ts'
import { expire, heartbeat, lose } from '../../../shared/core/run/lease.ts'
import { createSchedule, noteTicked } from '../../../shared/core/schedule.ts'
import { EVENT_TYPES } from '../../../shared/core/states.ts'
import { statusOf } from '../../../shared/core/status.ts'
import type { Head } from '../../../shared/core/task/head.ts'
import type { Operation } from '../../../shared/core/task/head-fields.ts'
import { LIFECYCLE } from '../../../shared/core/task/lifecycle.ts'
import { liveRuns, type Task } from '../../../shared/core/task/task.ts'
import { look } from '../../../shared/core/wake.ts'
import {
  afterOf,
  aPublication,
  aTask,
  BORN,
  HOUR,
  LATER_BORN,
  MINUTE,
  NOW,
  SECOND,
} from '../../support/tasks/a-task.ts'
import {
  aFlowTask,
  claimedBy,
  DONE,
  done,
  ended,
  failedFor,
  failingFor,
} from '../../support/tasks/flow-life.ts'
import { advance, decide, EMPTY_WORLD, steps } from '../../support/tasks/random-steps.ts'

const LATE = NOW + MINUTE

/** Events as short sentences: `running (running) run 1`. */
function linesOf(task: Head): string[] {
  return eventsOf(task).map(({ type, status, runId }) => {
    const run = runId === undefined ? '' : ` run ${runId.slice(BORN.length + 1)}`
    return `${type} (${status})${run}`
  })
}

const daily = createSchedule(
  {
    name: 'daily',
    born: BORN,
    next: NOW,
    definition: {
      timing: { kind: 'every', everyMs: 86_400_000 },
      missed: 'skip',
      graceMs: 300_000,
      taskType: 'resize',
      task: { type: 'resize' },
    },
  },
  undefined,
  NOW,
).after
const ticked = afterOf(noteTicked(daily, { next: NOW + HOUR, ranAt: NOW, error: undefined }, NOW))
const running = claimedBy(aTask())
const twoWanted = aTask({ options: { concurrency: 2 } })
const lastTry = claimedBy(aTask({ options: { retry: { maxRetries: 0 } } }))
const owing = { body: { inline: {} }, onSuccess: 1, onError: 0 }
const UNPUBLISHED = { indices: [0], problems: [], judgedAt: NOW, revision: 3 }
const undoing = failedFor(done(aFlowTask()), 'no', NOW + 1)
const halted = failedFor(undoing, 'stuck', NOW + 2)
const atLast = done(done(aFlowTask()), undefined, NOW + 1)
const haltedAtLast = failedFor(failedFor(atLast, 'no', NOW + 2), 'stuck', NOW + 3)
const again = { publication: aPublication({ born: LATER_BORN }), clean: [], keepInput: true } as const

/** Changes and their events, by operation. The compiler requires an entry for each operation. */
const EVENTS_BY_OPERATION: Record<Operation, ReadonlyArray<readonly [string, Head, string[]]>> = {
  publish: [
    ['due', create(aPublication(), undefined, NOW).after, ['task.published (ready)', 'task.ready (ready)']],
    [
      'delayed',
      create(aPublication({ dueAt: NOW + HOUR }), undefined, NOW).after,
      ['task.published (delayed)'],
    ],
  ],
  update: [
    ['due', afterOf(update(aTask(), aPublication(), NOW)), ['task.ready (ready)']],
    ['delayed', afterOf(update(aTask(), aPublication({ dueAt: NOW + HOUR }), NOW)), []],
  ],
  claim: [
    ['', running, ['task.running (running) run 1']],
    [
      'that found a run lost',
      claimedBy(running, 'w2', LATE),
      ['task.lost (running) run 1', 'task.running (running) run 2'],
    ],
    ['by the second of two workers', claimedBy(claimedBy(twoWanted), 'w2'), ['task.running (running) run 2']],
    ['of an undo', claimedBy(undoing), ['task.running (compensating) run 3']],
  ],
  throttle: [['', afterOf(joinLine(aTask(), { kind: 'slot', limit: 'resize' }, NOW)), []]],
  block: [['', afterOf(joinLine(aTask(), { kind: 'permit', limit: 'resize' }, NOW)), []]],
  beat: [['', afterOf(heartbeat(running, { born: BORN, fence: 1 }, NOW)), []]],
  succeed: [
    ['for good', ended(running, DONE), ['task.succeeded (succeeded) run 1']],
    [
      'before the reserved start of its run',
      ended(claimedBy(aTask(), 'w1', NOW, NOW + SECOND), DONE),
      ['task.succeeded (succeeded) run 1'],
    ],
    ['as one of two', ended(claimedBy(twoWanted), DONE), ['task.ready (ready)']],
    ['while another runs', ended(claimedBy(claimedBy(twoWanted), 'w2'), DONE), []],
    ['into another stage', ended(running, { ...DONE, next: { stage: 'store' } }), ['task.ready (ready)']],
    ['into a stage that waits', ended(running, { ...DONE, next: { stage: 'store', delayMs: SECOND } }), []],
    ['of a step', done(aFlowTask()), ['task.ready (ready)']],
    ['of the last step', done(atLast, undefined, NOW + 2), ['task.succeeded (succeeded) run 3']],
    [
      'of the last undo',
      done(done(undoing, undefined, NOW + 2), undefined, NOW + 3),
      ['task.failed (failed) run 4'],
    ],
  ],
  fail: [
    ['and wait', ended(running, failingFor('no', false)), []],
    [
      'and try again at once',
      ended(running, { outcome: 'fail', error: { name: 'E', message: 'no' }, retryInMs: 0 }),
      ['task.ready (ready)'],
    ],
    ['for good', ended(running, failingFor('no')), ['task.failed (failed) run 1']],
    ['into undoing', undoing, ['task.ready (compensating)']],
    ['while undoing for good', halted, ['task.failed (failed) run 3', 'task.needs-attention (failed) run 3']],
  ],
  lose: [
    ['and try again', afterOf(lose(running, LATE)), ['task.lost (ready) run 1', 'task.ready (ready)']],
    ['for good', afterOf(lose(lastTry, LATE)), ['task.lost (failed) run 1', 'task.failed (failed) run 1']],
    [
      'two runs',
      afterOf(lose(claimedBy(claimedBy(twoWanted), 'w2'), LATE)),
      ['task.lost (ready) run 1', 'task.lost (ready) run 2', 'task.ready (ready)'],
    ],
  ],
  release: [
    ['', ended(running, { outcome: 'release' }), ['task.ready (ready)']],
    ['for later', ended(running, { outcome: 'release', delayMs: SECOND }), []],
  ],
  expire: [
    ['while running', expire(running, NOW).after, ['task.failed (failed) run 1']],
    ['while waiting', expire(aTask(), NOW).after, ['task.failed (failed)']],
    ['with several runs', expire(claimedBy(claimedBy(twoWanted), 'w2'), NOW).after, ['task.failed (failed)']],
  ],
  surface: [
    [
      'of a task that has become due',
      afterOf(look(aTask({ kind: 'http', dueAt: NOW + SECOND }), NOW + SECOND, 0)),
      ['task.ready (ready)'],
    ],
  ],
  patch: [
    ['of what is ready', afterOf(patch(aTask({ dueAt: NOW - 1 }), { priority: 5 }, NOW)), []],
    ['of what runs', afterOf(patch(running, { priority: 5 }, NOW + 1)), []],
    [
      'that makes it due now',
      afterOf(patch(aTask({ dueAt: NOW + HOUR }), { dueAt: NOW }, NOW)),
      ['task.ready (ready)'],
    ],
    [
      'that stops its run',
      afterOf(patch(running, { options: { workerIds: ['w2'] } }, NOW + 1)),
      ['task.ready (ready)'],
    ],
    [
      'that leaves nothing to do',
      afterOf(patch(ended(claimedBy(twoWanted), DONE), { options: { concurrency: 1 } }, NOW + 1)),
      ['task.succeeded (succeeded)'],
    ],
  ],
  cancel: [
    ['of what waits', afterOf(cancel(aTask(), NOW)), ['task.cancelled (cancelled)']],
    ['of what runs', afterOf(cancel(running, NOW)), ['task.cancelled (cancelled)']],
    [
      'of a flow that has something to undo',
      afterOf(cancel(done(aFlowTask()), NOW)),
      ['task.ready (compensating)'],
    ],
  ],
  remove: [['', remove(running, NOW).after, []]],
  restart: [
    [
      '',
      afterOf(restart(ended(running, DONE), { ...again, clean: ['succeeded'] }, NOW)),
      ['task.published (ready)', 'task.ready (ready)'],
    ],
  ],
  resume: [
    ['with the undo', afterOf(resume(halted, 'retry-undo', NOW)), ['task.ready (compensating)']],
    ['past the last step', afterOf(resume(haltedAtLast, 'continue', LATE)), ['task.succeeded (succeeded)']],
  ],
  tick: [['of a schedule', ticked, ['schedule.ticked (undefined)']]],
  owe: [
    [
      'what cannot be published',
      afterOf(recordUnpublishable(ended(claimedBy(aTask({ callbacks: owing })), DONE), UNPUBLISHED, NOW)),
      ['task.needs-attention (succeeded)'],
    ],
  ],
  settle: [
    ['', afterOf(recordCallbacksPublished(ended(claimedBy(aTask({ callbacks: owing })), DONE), NOW)), []],
  ],
}

describe('the operation', () => {
  it.each(
    Object.keys(LIFECYCLE).flatMap(operation =>
      EVENTS_BY_OPERATION[operation as Operation].map(
        ([how, task, events]) => [operation, how, task, events] as const,
      ),
    ),
  )('%s %s', (operation, _how, task, events) => {
    expect(task.operation).toBe(operation)
    expect(linesOf(task)).toEqual(events)
  })

  it('has an entry in this table, and each entry belongs to an operation', () => {
    expect(Object.keys(EVENTS_BY_OPERATION).sort()).toEqual(Object.keys(LIFECYCLE).sort())
  })
})

describe('a canvas', () => {
  const tree = { layout: {}, pages: [], leaves: 1 }
  const canvas = createCanvas({ key: 'c', born: BORN, shard: 0, ...tree }, undefined, NOW).after

  it.each([
    ['published', canvas, ['canvas.published (running)']],
    ['at work', afterOf(noteProgress(canvas, NOW)), []],
    ['succeeded', afterOf(endCanvas(canvas, { end: 'succeeded' }, NOW)), ['canvas.succeeded (succeeded)']],
    ['failed', afterOf(endCanvas(canvas, { end: 'failed' }, NOW)), ['canvas.failed (failed)']],
    ['cancelled', afterOf(cancelCanvas(canvas, NOW)), ['canvas.cancelled (cancelled)']],
    ['cancelled, its members not yet', afterOf(noteProgress(afterOf(cancelCanvas(canvas, NOW)), NOW)), []],
    ['removed', remove(canvas, NOW).after, []],
  ])('that is %s has these events', (_name, head, events) => {
    expect(linesOf(head)).toEqual(events)
  })

  it('has its own id in the event', () => {
    expect(eventsOf(canvas)).toEqual([
      {
        id: `${BORN}.1.published`,
        type: 'canvas.published',
        at: NOW,
        taskId: 'canvas:c',
        status: 'running',
      },
    ])
  })
})

describe('a failure', () => {
  const no = {
    name: 'TypeError',
    message: 'm'.repeat(500),
    stack: 'at …',
    causes: [{ name: 'E', message: 'why' }],
  }
  const short = { name: 'TypeError', message: `${'m'.repeat(119)}…` }

  it('is reported with the type of its task and with the short error', () => {
    const failed = ended(claimedBy(aTask()), { outcome: 'fail', error: no, fatal: true })

    expect(eventsOf(failed)).toMatchObject([{ type: 'task.failed', taskType: 'resize', error: short }])
    expect(eventsOf(failed)[0]?.error).toEqual(short)
  })

  it('by a lost run is reported with the error LeaseLost', () => {
    const lost = afterOf(lose(claimedBy(aTask()), NOW + HOUR))

    expect(eventsOf(lost)[0]).toMatchObject({
      type: 'task.lost',
      taskType: 'resize',
      error: { name: 'LeaseLost' },
    })
  })

  it('before a later success leaves no error in the event of the success', () => {
    const retried = ended(claimedBy(aTask()), { outcome: 'fail', error: no, retryInMs: 0 })
    const events = eventsOf(ended(claimedBy(retried), DONE))

    expect(events.map(event => [event.type, event.error])).toEqual([['task.succeeded', undefined]])
  })
})

it('the id of a worker event contains the position of the change in the stream', () => {
  const change = { workerId: 'wörker 1', at: NOW, position: '0042' }

  const joined = workerEvent({ type: 'worker.joined', ...change })
  const left = workerEvent({ type: 'worker.left', ...change, position: '0043' })

  expect(joined).toEqual({
    id: expect.stringMatching(/^worker-[a-z0-9]+\.0042\.joined$/),
    type: 'worker.joined',
    at: NOW,
    workerId: 'wörker 1',
  })
  expect(left.id).toMatch(/\.0043\.left$/)
})

describe('over any life of a task', () => {
  type Seen = { readonly before: Task | undefined; readonly after: Task; readonly events: BatonEvent[] }

  /** Checks an assertion on all changes of each of many random lives. */
  function overLives(assertOn: (seen: readonly Seen[]) => void): void {
    const property = fc.property(steps, life => {
      const seen: Seen[] = []
      let world = EMPTY_WORLD
      for (const step of life) {
        const change = decide(world, step)
        // The stream's filter drops heartbeats.
        const isTask = change && change.after.operation !== 'beat'
        if (isTask) seen.push({ ...change, events: eventsOf(change.after) })
        world = advance(world, step, change)
      }
      assertOn(seen)
    })
    fc.assert(property, { numRuns: 200 })
  }

  const stateOf = (task: Task | undefined) =>
    !task || task.state === 'removed' ? 'none' : statusOf(task, task.updatedAt)

  it('each event has an id of its own that fits into a header; only the loss of a run may be reported twice', () => {
    overLives(seen => {
      const named = seen.flatMap(({ events }) => events).filter(({ type }) => type !== 'task.lost')

      expect(new Set(named.map(({ id }) => id)).size).toBe(named.length)
      for (const { id } of named) expect(id).toMatch(/^[\x21-\x7e]+$/)
    })
  })

  it('every end and every claim is reported once, and every loss is reported', () => {
    overLives(seen => {
      for (const { before, after, events } of seen) {
        const types = events.map(({ type }) => type)
        const isOver = after.state !== 'open' && after.state !== 'removed'
        // A failed flow that is resumed may end in the same write.
        const hasEnded = isOver && (before?.state !== after.state || after.operation === 'resume')
        const begun = liveRuns(after).filter(({ fence }) => !before?.live[fence])
        const lost = Object.values(after.ended).filter(
          ({ fence, state }) => state === 'lost' && before?.live[fence],
        )

        expect(types.filter(type => /succeeded|failed|cancelled/.test(type))).toEqual(
          hasEnded ? [`task.${after.state}`] : [],
        )
        expect(types.filter(type => type === 'task.running')).toHaveLength(begun.length)
        expect(types.filter(type => type === 'task.lost').length).toBeGreaterThanOrEqual(lost.length)
      }
    })
  })

  it('a task is reported as ready exactly when a change makes it ready', () => {
    overLives(seen => {
      for (const { before, after, events } of seen) {
        const ready = events.filter(({ type }) => type === 'task.ready')
        const wasWaiting = before?.state === 'open' && liveRuns(before).length === 0
        const isMadeReady = stateOf(after) === 'ready' && !wasWaiting
        const mayBeReported = after.state === 'open' && liveRuns(after).length === 0

        expect(ready.length).toBeGreaterThanOrEqual(Number(isMadeReady))
        expect(ready.length).toBeLessThanOrEqual(Number(mayBeReported))
        for (const { status } of ready) expect(status).toMatch(/^(ready|compensating)$/)
      }
    })
  })

  it('every event has one of the listed types', () => {
    overLives(seen => {
      for (const { type } of seen.flatMap(({ events }) => events)) expect(EVENT_TYPES).toContain(type)
    })
  })
})
