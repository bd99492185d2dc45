import type { Change } from '../../../../shared/core/change.ts'
import { joinLine } from '../../../../shared/core/limits/limits.ts'
import { cancel, remove } from '../../../../shared/core/operate/operate.ts'
import { patch } from '../../../../shared/core/operate/patch.ts'
import { create } from '../../../../shared/core/publish.ts'
import { claim } from '../../../../shared/core/run/claim.ts'
import { finish } from '../../../../shared/core/run/finish.ts'
import { heartbeat } from '../../../../shared/core/run/lease.ts'
import type { Ordering, TypeKind } from '../../../../shared/core/states.ts'
import type { ActionRecord, FlowState, StepRecord } from '../../../../shared/core/task/flow-state.ts'
import type { Head } from '../../../../shared/core/task/head.ts'
import type { Body, CanvasState, HeadState, ScheduleState } from '../../../../shared/core/task/head-fields.ts'
import type { EndedRun, LiveRun, Task } from '../../../../shared/core/task/task.ts'
import type { TaskError } from '../../../../shared/core/task-error/task-error.ts'
import type { TaskParts } from '../../../support/tasks/a-task.ts'
import {
  aCanvas,
  aFlow,
  anEndedRun,
  aPublication,
  aRun,
  aSchedule,
  aTask,
  BORN,
  changeOf,
  DAY,
  HOUR,
  MINUTE,
  NOW,
  SECOND,
} from '../../../support/tasks/a-task.ts'
import { aFlowTask, claimedBy, done, failedFor } from '../../../support/tasks/flow-life.ts'

/** Tasks of every kind with every member, and changes between two of them, whose stored form the golden test keeps. */

export const APART: Body = { ref: `out#${BORN}#1#x`, bytes: 70_000, expiresAt: NOW + DAY }
const INLINE: Body = { inline: { text: 'ünïcode \ud83d\ude00', list: [1.5, null, true], ['__proto__']: 1 } }
const BARE_ERROR: TaskError = { name: 'Error', message: 'no' }
const ERROR: TaskError = { ...BARE_ERROR, stack: 'at f', causes: [{ name: 'TypeError', message: 'deep' }] }

const FULL_RUN: Required<LiveRun> = {
  fence: 7,
  workerId: 'w7',
  startedAt: NOW,
  leaseUntil: NOW + MINUTE,
  leaseMs: MINUTE,
  timeoutAt: NOW + HOUR,
  progress: { done: 0.5 },
  log: 'a line',
  permits: [
    { limit: 'resize', holder: 'h1' },
    { limit: 'resize=a', holder: 'h2' },
  ],
}

export const FULL_ENDED: Required<EndedRun> = {
  fence: 3,
  workerId: 'w3',
  state: 'failed',
  startedAt: NOW,
  endedAt: NOW + SECOND,
  result: APART,
  error: ERROR,
  cause: 'timed-out',
  progress: null,
  log: 'a line\nanother',
  piece: 'fetch',
  past: true,
  reportDigest: 'abc1234',
}

const ORIGIN: Partial<Task> = {
  immutable: true,
  stage: 'fetch',
  stageChanges: 2,
  callbacks: { body: INLINE, onSuccess: 2, onError: 1 },
  owes: true,
  unpublished: {
    indices: [0, 2],
    problems: [{ path: 'onSuccess.0.deadlineMs', message: 'is too large' }],
    judgedAt: NOW,
    revision: 2,
  },
  parentId: 'resize:k0',
  operations: [
    { at: NOW, by: 'local:alice', what: 'patch' },
    { at: NOW + 1, by: 'local:bob', what: 'cancel' },
    { at: NOW + 2, by: 'local:alice', what: 'retry-undo' },
  ],
}

export const FULL_OPTIONS = {
  concurrency: 3,
  workerIds: ['w1', 'w2'],
  minWorkerVersion: '1.2',
  heartbeatMs: 1,
  leaseMs: 2,
  timeoutMs: 3,
  deadlineMs: 4,
  retry: {
    maxRetries: 1,
    backoff: 'ladder' as const,
    delayMs: 1,
    maxDelayMs: 2,
    delaysMs: [1, 2],
    jitter: 0.5,
    scope: 'worker' as const,
    localRetries: 1,
  },
  retentionMs: 5,
}

export const EVERY_MEMBER = aTask({
  ...ORIGIN,
  revision: 3,
  operation: 'claim',
  retrying: true,
  deadlineAt: NOW + HOUR,
  priority: -4,
  userId: 'ü1',
  tags: { a: 'b', ['__proto__']: 'c' },
  traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  options: FULL_OPTIONS,
  input: APART,
  limitValues: { shop: 'a', region: null },
  fairnessKey: 'tenant',
  live: [aRun({ fence: 6 }), FULL_RUN],
  ended: [anEndedRun({ fence: 2, result: INLINE }), FULL_ENDED],
  failures: 9,
  failuresBy: { w1: 2, constructor: 1, ['__proto__']: 3 },
  retryAtBy: { w1: NOW + SECOND, ['__proto__']: NOW + HOUR },
  error: ERROR,
  startedAt: NOW,
  finishedAt: NOW + SECOND,
  expiresAt: NOW + DAY + 1,
  shard: 2,
  place: { name: 'ready#resize#2', order: '0001' },
})

const ACTION = { startedAt: NOW, endedAt: NOW + 1, attempts: 2, fence: 4, workerId: 'w1', ranAt: NOW + 1 }
export const FULL_ACTION: Required<ActionRecord> = { ...ACTION, error: ERROR, reportDigest: 'd' }
const STEPS: Readonly<Record<string, StepRecord>> = {
  0: {
    state: 'undoing',
    do: ACTION,
    result: INLINE,
    undo: { attempts: 0, startedAt: NOW, reportDigest: 'd' },
  },
  1: { state: 'failed', do: { ...ACTION, error: ERROR }, result: APART },
  2: { state: 'running', do: { attempts: 0 } },
}

export function aFlowHead(flow: Partial<FlowState>, parts: Partial<Omit<TaskParts, 'options'>> = {}): Task {
  const state: FlowState = {
    definition: aFlow(),
    reachedStep: 0,
    presentStep: 0,
    direction: 'do',
    steps: {},
    ...flow,
  }
  const options = state.definition.steps[state.presentStep]?.[state.direction]?.options ?? {}
  return aTask({ type: 'order', kind: 'flow', options, flow: state, ...parts })
}

const FLOWS: Readonly<Record<string, Task>> = {
  'at its beginning': aFlowHead({}),
  'at its second step': aFlowHead({
    reachedStep: 1,
    presentStep: 1,
    steps: STEPS,
    deadlineMs: HOUR,
    deadlineAt: NOW + HOUR,
  }),
  'that undoes its steps': aFlowHead(
    { reachedStep: 1, presentStep: 0, direction: 'undo', steps: STEPS, round: 2 },
    { error: BARE_ERROR },
  ),
  'that undoes its steps with the error of its failed step': aFlowHead(
    { reachedStep: 1, presentStep: 0, direction: 'undo', steps: STEPS },
    { error: ERROR },
  ),
  'that undoes its steps after a cancel': aFlowHead({
    reachedStep: 1,
    presentStep: 0,
    direction: 'undo',
    steps: STEPS,
    cancelling: true,
  }),
  'that has failed': aFlowHead(
    { reachedStep: 1, presentStep: 0, direction: 'undo', steps: STEPS },
    { state: 'failed', error: ERROR, finishedAt: NOW, expiresAt: NOW + DAY },
  ),
  'with a retention of its own': ofRetention(aFlowHead({}), 7),
}

function ofRetention(task: Task, retentionMs: number): Task {
  return { ...task, options: { ...task.options, retentionMs } }
}

const SCHEDULE: ScheduleState = {
  timing: { kind: 'cron', cron: '0 3 * * *', timezone: 'Europe/Zurich' },
  missed: { catchUp: 2 },
  graceMs: 1,
  taskType: 'resize',
  paused: true,
  managedBy: 'Shop',
  lastRunAt: NOW,
  pauses: [{ from: NOW, to: NOW + 1 }, { from: NOW + 2 }],
}
const PLAIN_SCHEDULE = { missed: 'skip', graceMs: 300_000, taskType: 'resize', paused: false } as const

function scheduleOf(schedule: ScheduleState): Head {
  return aSchedule({ id: 'schedule:nightly', key: 'nightly', input: INLINE, schedule })
}

function canvasOf(canvas: CanvasState): Head {
  return aCanvas({ id: 'canvas:k1', key: 'k1', canvas })
}

const OTHERS: Readonly<Record<string, Head>> = {
  'a plain task': aTask(),
  'every member': EVERY_MEMBER,
  'the one tenant of tasks that name none': aTask({ isFair: true }),
  'a key with a colon': aTask({ key: 'a:b' }),
  'a task for several workers without ended runs': aTask({ options: { concurrency: 2 } }),
  'an ended task for several workers without ended runs': aTask({
    state: 'cancelled',
    options: { concurrency: 2 },
  }),
  'a slot': aTask({ wait: { kind: 'slot', limit: 'resize' } }),
  'a permit': aTask({ wait: { kind: 'permit', limit: 'resize=a' } }),
  'a handed-on body': aTask({ previous: { handOn: 'append', kind: 'body', body: INLINE } }),
  'a handed-on body apart': aTask({ previous: { handOn: 'spread', kind: 'body', body: APART } }),
  'a handed-on result': aTask({
    previous: { handOn: 'prepend', kind: 'result', taskId: 'resize:k0', ref: 'out#1', bytes: 300 },
  }),
  'a handed-on node': aTask({
    previous: { handOn: 'append', kind: 'node', canvasId: 'canvas:c1', born: BORN, node: 0 },
  }),
  'callbacks on success only': aTask({ callbacks: { body: APART, onSuccess: 1, onError: 0 } }),
  'a member': aTask({ member: { canvasId: 'c1', born: BORN, leaf: 0 } }),
  'a member after its first end': aTask({ member: { canvasId: 'c1', born: BORN, leaf: 3, first: 'failed' } }),
  'a canvas that waits': canvasOf({ tree: INLINE, leaves: 2, started: false }),
  'a canvas that has started': canvasOf({ tree: APART, leaves: 900, sendConcurrency: 10, started: true }),
  'a schedule by cron': scheduleOf(SCHEDULE),
  'a schedule by interval': scheduleOf({ ...PLAIN_SCHEDULE, timing: { kind: 'every', everyMs: 1_000 } }),
  'a schedule at a time': scheduleOf({ ...PLAIN_SCHEDULE, timing: { kind: 'at', at: NOW } }),
  'a task of a tick': aTask({ parentId: 'schedule:nightly', state: 'succeeded', expiresAt: NOW }),
  'a tombstone': remove(EVERY_MEMBER, NOW).after,
  'a tombstone of a member': remove(aTask({ member: { canvasId: 'c1', born: BORN, leaf: 1 } }), NOW).after,
  'a tombstone of a canvas': remove(aCanvas(), NOW).after,
  'a tombstone of a schedule': remove(aSchedule(), NOW).after,
  'a null input': aTask({ input: { inline: null } }),
}

// The compiler refuses a set that lacks a word.
const KINDS: Record<TypeKind, true> = { handler: true, http: true, webhook: true, flow: true }
const ORDERINGS: Record<Ordering, true> = { arrival: true, priority: true, aged: true }
const STATES: Record<HeadState, true> = {
  ...{ open: true, succeeded: true, failed: true, cancelled: true, removed: true },
}
const keysOf = <Word extends string>(words: Record<Word, true>) => Object.keys(words) as Word[]

export function goldenHeads(): Record<string, Head> {
  return {
    ...OTHERS,
    ...named(FLOWS, name => `a flow ${name}`),
    ...Object.fromEntries(
      keysOf(KINDS).flatMap(kind =>
        keysOf(ORDERINGS).map(ordering => [`kind ${kind} in order ${ordering}`, aTask({ kind, ordering })]),
      ),
    ),
    ...Object.fromEntries(keysOf(STATES).map(state => [`state ${state}`, aTask({ state, finishedAt: NOW })])),
  }
}

function named<T>(record: Readonly<Record<string, T>>, name: (key: string) => string): Record<string, T> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [name(key), value]))
}

type Pair = readonly [before: Head, after: Head]

export function goldenChanges(): Record<string, Pair> {
  const plain = create(aPublication({ input: 'x' }), undefined, NOW).after
  const running = changeOf(claim(plain, { workerId: 'w1' }, NOW))
  const live = running.after
  const word = { born: BORN, fence: live.fence }
  const crowd = aTask({
    options: { concurrency: 3 },
    live: [aRun(), FULL_RUN],
    ended: [anEndedRun({ fence: 2 })],
  })
  const flow = aFlowTask()
  const second = done(flow, 'r')
  return {
    'a claim': pairOf(running),
    'a heartbeat': pairOf(changeOf(heartbeat(live, { ...word, progress: [1] }, NOW + 5 * SECOND))),
    'a success': pairOf(changeOf(finish(live, { ...word, outcome: 'succeed', result: 1 }, NOW + 1, 0))),
    'a failure': pairOf(changeOf(finish(live, { ...word, outcome: 'fail', error: ERROR }, NOW + 1, 0))),
    'a cancel': pairOf(changeOf(cancel(live, NOW))),
    'a patch': pairOf(
      changeOf(patch(crowd, { priority: 4, tags: { a: 'b' }, options: { leaseMs: 1_000 } }, NOW)),
    ),
    'a throttle': pairOf(changeOf(joinLine(plain, { kind: 'slot', limit: 'resize' }, NOW))),
    'a progress of one of several runs': pairOf(
      changeOf(heartbeat(crowd, { born: BORN, fence: 7, progress: 2 }, NOW)),
    ),
    'one of several successes': pairOf(
      changeOf(finish(crowd, { born: BORN, fence: 7, outcome: 'succeed' }, NOW, 0)),
    ),
    'a step that is claimed': [flow, claimedBy(flow)],
    'a step that is done': [flow, second],
    'a step that fails': [second, failedFor(second, 'no')],
  }
}

function pairOf({ before, after }: Change): Pair {
  if (!before) throw new Error('a change has a task before it')
  return [before, after]
}
