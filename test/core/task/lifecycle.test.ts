import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { RECENT_RUNS_MAX } from '../../../shared/core/bounds.ts'
import { cancelCanvas, createCancelled, noteMembersCancelled } from '../../../shared/core/canvas/canvas.ts'
import type { Change } from '../../../shared/core/change.ts'
import { withIndexEntries } from '../../../shared/core/place/place.ts'
import { isGone } from '../../../shared/core/publish.ts'
import { noteTicked } from '../../../shared/core/schedule.ts'
import { statusOf } from '../../../shared/core/status.ts'
import { firstFence, type Head, isTask, separateBodies } from '../../../shared/core/task/head.ts'
import type { Canvas, Schedule } from '../../../shared/core/task/head-fields.ts'
import { LIFECYCLE, RUN_MOVES, type Status } from '../../../shared/core/task/lifecycle.ts'
import { isSamePiece, workOf } from '../../../shared/core/task/piece.ts'
import { type EndedRun, endedRuns, liveRuns, successes, type Task } from '../../../shared/core/task/task.ts'
import { look, plan } from '../../../shared/core/wake.ts'
import { aCanvas, aPublication, aSchedule, changeOf, MINUTE, NOW } from '../../support/tasks/a-task.ts'
import { nextWake } from '../../support/tasks/next-wake.ts'
import { advance, decide, EMPTY_WORLD, type Step, steps } from '../../support/tasks/random-steps.ts'

type Transition = Change<Task> & { readonly now: number; readonly step: Step }

const SAMPLE_SEED = 11

/** The transitions of many random lives. They are played once for all tests, because playing them takes most of the time. */
const transitions: Transition[] = []
for (const life of fc.sample(steps, { numRuns: 600, seed: SAMPLE_SEED }))
  play(life, one => transitions.push(one))

/** Checks an assertion on every transition of many random lives. */
function forEveryTransition(claim: (transition: Transition) => void): void {
  for (const transition of transitions) claim(transition)
}

function play(life: readonly Step[], see: (transition: Transition) => void): void {
  let world = EMPTY_WORLD
  for (const step of life) {
    const change = decide(world, step)
    if (change) see({ ...change, now: world.now, step })
    world = advance(world, step, change)
  }
}

/** Checks an assertion on the task after every transition. */
function forEveryTask(claim: (task: Task, now: number) => void): void {
  forEveryTransition(({ after, now }) => claim(after, now))
}

function statusAt(task: Task | undefined, now: number): Status | 'none' {
  return task === undefined || task.state === 'removed' ? 'none' : statusOf(task, now)
}

function moveOf({ before, after, now }: Change & { readonly now: number }): string {
  return `${after.operation}: ${statusOfHead(before, now)} → ${statusOfHead(after, now)}`
}

const LEGAL_MOVES = new Set(
  Object.entries(LIFECYCLE).flatMap(([operation, moves]) =>
    moves.flatMap(({ from, to }) => from.flatMap(one => to.map(other => `${operation}: ${one} → ${other}`))),
  ),
)

const LEGAL_RUN_MOVES = new Set(
  Object.entries(RUN_MOVES).flatMap(([state, operations]) =>
    operations.map(operation => `${state} by ${operation}`),
  ),
)

/** Whether a change ends one run as succeeded and touches nothing else but what every write states. */
function isOneMoreSuccess(before: Task, after: Task, fence: number): boolean {
  const { [fence]: run, ...live } = before.live
  const success = after.ended[fence]
  const { revision, operation, updatedAt } = after
  const expected = {
    ...before,
    revision,
    operation,
    updatedAt,
    live,
    ended: { ...before.ended, [fence]: success },
  }
  return run !== undefined && success?.state === 'succeeded' && isDeepStrictEqual(after, expected)
}

function runsEndedBy({ before, after }: Change<Task>): EndedRun[] {
  return endedRuns(after).filter(run => before?.live[run.fence])
}

/** A life too rare for chance: of two HTTP runs one fails, and its retry becomes due while the other run continues. */
const SLOT_COMES_DUE_BESIDE_A_RUN: Step[] = [
  { do: 'publish', body: { kind: 'http', dueInMs: 0, options: { concurrency: 2 } } },
  { do: 'claim', workerId: 'w1' },
  { do: 'claim', workerId: 'w2' },
  { do: 'finish', run: 0, outcome: { outcome: 'fail', error: { name: 'Error', message: 'no' } } },
  { do: 'waitForWake' },
  { do: 'look' },
]

const BAD = { outcome: 'fail', error: { name: 'Error', message: 'no' }, fatal: true } as const
/** Step `charge` of the first flow is done and undone over HTTP. */
const UNDO_IS_RETRIED_OVER_HTTP: Step[] = [
  { do: 'publish', body: { kind: 'flow', dueInMs: 0, options: {} } },
  { do: 'claim', workerId: 'w1' },
  { do: 'finish', run: 0, outcome: { outcome: 'succeed' } },
  { do: 'claim', workerId: 'w1' },
  { do: 'finish', run: 0, outcome: BAD },
  { do: 'claim', workerId: 'w1' },
  { do: 'finish', run: 0, outcome: { ...BAD, fatal: false } },
  { do: 'waitForWake' },
  { do: 'look' },
]

const UNDO_WAITS_FOR_LIMITS: Step[] = [
  ...UNDO_IS_RETRIED_OVER_HTTP.slice(0, 5),
  { do: 'throttle' },
  { do: 'block' },
]

/**
 * Of two runs one fails. The other one succeeds by a counted change that was decided before, and so did not move the task in the index. A
 * look then moves it, while the task waits for its retry.
 */
function movedBeforeItsRetry(): Change<Task> {
  let head: Task | undefined
  play(SLOT_COMES_DUE_BESIDE_A_RUN.slice(0, 4), ({ after }) => {
    head = after
  })
  const [run] = head ? liveRuns(head) : []
  if (!head || !run) throw new Error('no run continues next to the failed one')
  const success = { ...run, state: 'succeeded' as const, endedAt: head.updatedAt }
  const left = { ...head, live: {}, ended: { ...head.ended, [run.fence]: success } }
  const moved = look(left, head.updatedAt, 0.5)
  if (!moved.ok) throw new Error(`the look finds ${moved.reason}`)
  return moved.change
}

const EVERY_MINUTE = { ranAt: NOW, error: undefined }

/** The changes that random lives of a task do not make. */
function otherTransitions(): Change[] {
  const cancelled = changeOf<Canvas>(cancelCanvas(aCanvas(), NOW))
  const ticked = changeOf<Schedule>(noteTicked(aSchedule(), { ...EVERY_MINUTE, next: NOW + MINUTE }, NOW))
  return [
    cancelled,
    createCancelled(aPublication(), NOW).change,
    changeOf<Canvas>(noteMembersCancelled(cancelled.after, NOW)),
    ticked,
    changeOf<Schedule>(noteTicked(ticked.after, { ...EVERY_MINUTE, next: undefined }, NOW + MINUTE)),
    movedBeforeItsRetry(),
  ]
}

/** The status of a head, in the terms of the lifecycle table. */
function statusOfHead(head: Head | undefined, now: number): Status | 'none' {
  if (head === undefined || isTask(head)) return statusAt(head, now)
  if (head.state === 'removed') return 'none'
  if (head.state !== 'open') return head.state
  return head.dueAt > now ? 'delayed' : 'ready'
}

/** Seeds of random lives that together make every legal move: thousands of others make few new ones. */
const SEEDS_OF_ALL_MOVES = [
  1, 5, 6, 11, 20, 25, 26, 28, 41, 46, 47, 55, 64, 66, 78, 80, 87, 97, 112, 120, 124, 130, 133, 145, 158, 212,
  217, 219, 243, 263, 300, 334, 349, 374, 398, 496, 729, 735, 1303, 2058, 2073, 3364, 3984, 6443,
]

/** Lives that make every legal move. After a change of the generator, random lives find the moves that the seeds no longer make. */
function* livesOfAllMoves(): Generator<readonly Step[]> {
  yield SLOT_COMES_DUE_BESIDE_A_RUN
  yield UNDO_IS_RETRIED_OVER_HTTP
  yield UNDO_WAITS_FOR_LIMITS
  for (const seed of SEEDS_OF_ALL_MOVES) yield* fc.sample(steps, { numRuns: 1, seed })
  yield* fc.sample(steps, { numRuns: 6_000, seed: 3 })
}

const isBirth = ({ before, after }: Change<Task>) => before?.born !== after.born

describe('every transition', () => {
  it('is a move of the lifecycle table', () => {
    forEveryTransition(transition => {
      expect(LEGAL_MOVES).toContain(moveOf(transition))
    })
  })

  it('of the lifecycle table can happen', () => {
    const moves = new Set<string>()
    const runMoves = new Set<string>()

    for (const change of otherTransitions()) moves.add(moveOf({ ...change, now: change.after.updatedAt }))
    for (const life of livesOfAllMoves()) {
      if (moves.size === LEGAL_MOVES.size && runMoves.size === LEGAL_RUN_MOVES.size) break
      play(life, transition => {
        moves.add(moveOf(transition))
        for (const { state } of runsEndedBy(transition))
          runMoves.add(`${state} by ${transition.after.operation}`)
      })
    }

    expect([...moves].sort()).toEqual([...LEGAL_MOVES].sort())
    expect([...runMoves].sort()).toEqual([...LEGAL_RUN_MOVES].sort())
  })

  it('ends each run in a state that RUN_MOVES allows', () => {
    forEveryTransition(change => {
      const { before, after } = change
      if (!before || isBirth(change) || after.state === 'removed') return
      const gone = liveRuns(before).filter(run => !after.live[run.fence])
      const ended = runsEndedBy(change)
      const withStep = Object.values(after.flow?.steps ?? {}).flatMap(step => [
        step.do.fence,
        step.undo?.fence,
      ])
      const recorded = [...ended.map(run => run.fence), ...withStep]
      for (const { fence } of gone) expect(recorded).toContain(fence)
      for (const { state } of ended) expect(LEGAL_RUN_MOVES).toContain(`${state} by ${after.operation}`)
    })
  })

  it('leaves ended runs as they are', () => {
    forEveryTransition(({ before, after }) => {
      for (const run of before ? endedRuns(before) : []) {
        const { past: _past, reportDigest: _reportDigest, ...kept } = after.ended[run.fence] ?? run
        expect({ ...run, ...kept }).toEqual(run)
      }
    })
  })

  it('raises the revision by one, except a heartbeat', () => {
    forEveryTransition(({ before, after }) => {
      const growth = after.revision - (before?.revision ?? 0)
      expect(growth).toBe(after.operation === 'beat' ? 0 : 1)
    })
  })

  it('raises the fence by one at a claim, and otherwise only at a birth that counts on from its time', () => {
    forEveryTransition(({ before, after, now, step }) => {
      const former = before?.fence ?? 0
      const isBirth = before?.born !== after.born
      const expected = isBirth ? Math.max(former, firstFence(now)) : former
      const isClaim = after.operation === 'claim' || step.do === 'refuse'
      expect(after.fence).toBe(isClaim ? former + 1 : expected)
      for (const run of [...liveRuns(after), ...endedRuns(after)])
        expect(run.fence).toBeLessThanOrEqual(after.fence)
    })
  })

  it('leaves a final state alone, except to remove it, restart it, or reuse the key of one that is gone', () => {
    forEveryTransition(({ before, after, now }) => {
      if (!before || before.state === 'open') return
      const { operation } = after
      expect(['remove', 'restart', 'publish', 'resume', 'settle', 'owe']).toContain(operation)
      if (operation === 'publish') expect(isGone(before, now)).toBe(true)
      if (operation !== 'publish') expect(before.state).not.toBe('removed')
    })
  })

  it('begins a new birth exactly when a key is published or restarted', () => {
    forEveryTransition(change => {
      expect(isBirth(change)).toBe(['publish', 'restart'].includes(change.after.operation))
    })
  })

  it('is guarded by what it was decided on, and by each lease it judged', () => {
    forEveryTransition(({ before, after, guard }) => {
      if (!before) return expect(guard).toEqual({ kind: 'absent' })
      expect(guard).toMatchObject({ born: before.born })
      if (guard.kind === 'counted') return expect(isOneMoreSuccess(before, after, guard.fence)).toBe(true)
      if (guard.kind !== 'revision') return expect(after.operation).toBe('beat')
      expect(guard.revision).toBe(before.revision)
      const lost = liveRuns(before).filter(run => after.ended[run.fence]?.state === 'lost')
      for (const { fence, leaseUntil } of lost) expect(guard.leases).toContainEqual({ fence, leaseUntil })
    })
  })

  it('writes every body to which it makes the head refer', () => {
    forEveryTransition(({ before, after, bodies }) => {
      const known = new Set([...refsOf(before), ...bodies.map(body => body.ref)])
      for (const ref of refsOf(after)) expect(known).toContain(ref)
    })
  })

  it('writes the full record of every run that failed, was lost or was released', () => {
    forEveryTransition(({ before, after, bodies }) => {
      if (after.operation === 'expire') return
      for (const { fence, state } of endedRuns(after)) {
        if (!before?.live[fence] || state === 'succeeded' || state === 'cancelled') continue
        expect(bodies).toContainEqual(
          expect.objectContaining({ run: expect.objectContaining({ fence, state }) }),
        )
      }
    })
  })
})

describe('every claim', () => {
  const forEveryClaim = (hold: (transition: Transition & { readonly workerId: string }) => void) =>
    forEveryTransition(transition => {
      const { after, step } = transition
      if (step.do === 'claim' && after.operation === 'claim') hold({ ...transition, workerId: step.workerId })
    })

  it('comes when the task is due and before its deadline', () => {
    forEveryClaim(({ before, now }) => {
      expect(before?.state).toBe('open')
      expect(before?.dueAt).toBeLessThanOrEqual(now)
      expect(before?.deadlineAt ?? Number.POSITIVE_INFINITY).toBeGreaterThan(now)
    })
  })

  it('is by a worker that is listed, holds no other run of the task and has not succeeded on it', () => {
    forEveryClaim(({ after, workerId }) => {
      const { workerIds } = after.options
      if (workerIds.length > 0) expect(workerIds).toContain(workerId)
      expect(liveRuns(after).filter(run => run.workerId === workerId)).toHaveLength(1)
      expect(successes(after).map(run => run.workerId)).not.toContain(workerId)
    })
  })

  it('needs a task that wants a worker, and retry budget', () => {
    forEveryClaim(({ after, workerId }) => {
      const { concurrency, retry } = after.options
      expect(successes(after).length + liveRuns(after).length).toBeLessThanOrEqual(concurrency)
      const spent =
        retry.scope === 'task'
          ? after.failures
          : (new Map(Object.entries(after.failuresBy)).get(workerId) ?? 0)
      expect(spent).toBeLessThanOrEqual(retry.maxRetries)
    })
  })
})

describe('every task', () => {
  it('has no two live runs of one worker', () => {
    forEveryTask(task => {
      const workers = liveRuns(task).map(run => run.workerId)
      expect(new Set(workers).size).toBe(workers.length)
    })
  })

  it('has succeeded exactly when it has the successes it asks for', () => {
    forEveryTask(task => {
      const isDone = successes(task).length >= task.options.concurrency
      if (task.state === 'open') expect(isDone).toBe(false)
      if (task.state === 'succeeded' && !task.flow) expect(isDone).toBe(true)
    })
  })

  it('has live runs only while it is open', () => {
    forEveryTask(task => {
      if (task.state !== 'open') expect(task.live).toEqual({})
    })
  })

  it('keeps all successes, the runs that ended just now, and at most the last few others', () => {
    forEveryTransition(change => {
      const { before, after } = change
      const others = endedRuns(after).filter(run => run.state !== 'succeeded' || run.past)
      const endedNow = others.filter(run => before?.live[run.fence])
      expect(others.length).toBeLessThanOrEqual(Math.max(RECENT_RUNS_MAX, endedNow.length))
      if (!before || isBirth(change) || after.state === 'removed') return
      if (!isSamePiece(before, after) || before.flow) return
      for (const { fence } of successes(before)) expect(after.ended[fence]?.state).toBe('succeeded')
    })
  })

  it('is woken, unless it has ended or waits in a place that claims or the waker read', () => {
    forEveryTask((task, now) => {
      const wake = nextWake(task, now)
      const isFound = isFoundInPlace(task)
      const settlesAt = task.owes && !task.unpublished ? now : undefined
      if (task.state !== 'open') expect(wake).toBe(settlesAt)
      else if (!isFound || liveRuns(task).length > 0) expect(wake).toBeTypeOf('number')
    })
  })

  it('is not open beyond its budget', () => {
    forEveryTask(({ state, failures, options: { concurrency, retry, workerIds } }) => {
      if (state !== 'open') return
      if (retry.scope === 'task') expect(failures).toBeLessThanOrEqual(retry.maxRetries)
      else if (workerIds.length === 0) expect(failures).toBeLessThan(concurrency * (retry.maxRetries + 1))
    })
  })

  it('survives the way through JSON exactly, with nothing undefined in it', () => {
    forEveryTransition(({ after, guard, bodies }) => {
      for (const value of [after, guard, bodies]) {
        const copy: unknown = JSON.parse(JSON.stringify(value))
        if (!isDeepStrictEqual(copy, value)) expect(copy).toStrictEqual(value)
      }
    })
  })

  it('has the index entries that follow from its other fields', () => {
    forEveryTask((task, now) => {
      if (task.operation !== 'beat') expect(withIndexEntries(task, now)).toEqual(task)
    })
  })
})

it('makes progress at the time of its look, or gets a later look', () => {
  forEveryTask((task, now) => {
    const { lookAt } = plan(task, now)
    if (lookAt === undefined) return
    const time = Math.max(now, lookAt)

    const decision = look(task, time, 0.5)

    if (decision.ok) expect(decision.change.after.revision).toBe(task.revision + 1)
    else expect(plan(task, time).lookAt ?? Number.POSITIVE_INFINITY).toBeGreaterThan(time)
  })
})

function refsOf(task: Task | undefined): string[] {
  if (!task) return []
  return separateBodies(task).map(({ ref }) => ref)
}

function isFoundInPlace(task: Task): boolean {
  if (task.place && task.wait) return true
  return workOf(task).kind === 'http' && task.place?.name.startsWith('ready#') === true
}
