import { buryHead } from '../../../shared/aws/dynamo/head/head-reader.ts'
import { canvasRef } from '../../../shared/core/canvas/canvas.ts'
import { ACTIVITY_KINDS } from '../../../shared/core/events/activity.ts'
import { holderIn } from '../../../shared/core/limits/limits.ts'
import { EVENT_TYPES } from '../../../shared/core/states.ts'
import type { StepRecord } from '../../../shared/core/task/flow-state.ts'
import type { Head } from '../../../shared/core/task/head.ts'
import { bodyRef, type Operation } from '../../../shared/core/task/head-fields.ts'
import { LIFECYCLE, RUN_MOVES } from '../../../shared/core/task/lifecycle.ts'
import type { EndedRunState } from '../../../shared/core/task/task.ts'
import type { TaskType, TypeJob } from '../../../shared/core/types/task-type.ts'
import {
  APART,
  aFlowHead,
  EVERY_MEMBER,
  FULL_ACTION,
  FULL_ENDED,
  FULL_OPTIONS,
  goldenHeads,
} from '../../aws/dynamo/head/golden-heads.ts'
import { aLetter } from '../../support/tasks/a-letter.ts'
import { anEndedRun, aTask, BORN, MINUTE, NOW, type TaskParts } from '../../support/tasks/a-task.ts'
import type { Mirror } from './mirror.ts'
import type { Names } from './names.ts'
import { recordingDocuments } from './recorder.ts'

/**
 * Examples that together have every member of each type, and every word of each closed set. The compiler refuses a set that lacks
 * a word.
 */

/** Every state of a step. */
const STEPS: Record<StepRecord['state'], true> = {
  ...{ running: true, succeeded: true, failed: true, skipped: true },
  ...{ undoing: true, undone: true, 'undo-failed': true },
}

/** Parts that no golden head has. */
const OTHER_PARTS: readonly TaskParts[] = [
  { causedBy: 'a.1.s0', edits: 1 },
  { member: { canvasId: 'c1', born: BORN, leaf: 1, first: 'succeeded' } },
  { callbacks: { body: { inline: { onSuccess: [], onError: [] } }, onSuccess: 1, onError: 0 } },
  { dueAt: NOW + 60 * MINUTE },
  ...(Object.keys(LIFECYCLE) as Operation[]).map(operation => ({ operation })),
  ...(['excluded', 'timed-out'] as const).map(cause => ({ ended: [anEndedRun({ cause })] })),
  ...(Object.keys(RUN_MOVES) as EndedRunState[]).map(state => ({ ended: [anEndedRun({ state })] })),
  ...(['fixed', 'fibonacci', 'exponential'] as const).map(backoff => ({
    options: { retry: { backoff, delayMs: 7 } },
  })),
]

/** The inline bodies of golden heads have members that no code writes. */
function withEmptyBodies<H extends Head>(head: H): H {
  return JSON.parse(JSON.stringify(head), (_name, value) => (value?.inline ? { inline: null } : value))
}

function exampleHeads(): Head[] {
  const steps = Object.keys(STEPS).map((state, at) => {
    const step = { state: state as StepRecord['state'], do: FULL_ACTION, result: APART, undo: FULL_ACTION }
    return [at, step] as const
  })
  const flow = aFlowHead({ steps: Object.fromEntries(steps) })
  return [...Object.values(goldenHeads()).map(head => withEmptyBodies(head)), ...OTHER_PARTS.map(aTask), flow]
}

const EVERY_JOB: readonly TypeJob[] = [
  { kind: 'resume' },
  { kind: 'relimit' },
  { kind: 'reorder' },
  {
    kind: 'purge',
    statuses: ['delayed', 'ready', 'running', 'compensating', 'succeeded', 'failed', 'cancelled'],
    before: NOW,
    askedAt: NOW,
    isSecond: true,
  },
]

const TYPE: Required<TaskType> = {
  type: 'resize',
  configuration: {
    kind: 'webhook',
    defaults: { ...FULL_OPTIONS, priority: 1 },
    ordering: 'aged',
    limits: { rate: { limit: 1, perMs: 1, key: 'a' }, concurrency: { max: 1, key: 'a' } },
    shards: 1,
    events: true,
    webhook: { url: 'https://a', timeoutMs: 1, secretName: 's', allowPrivate: true },
    steps: [
      {
        name: 'one',
        do: { type: 'a', input: 1, timeoutMs: 1, deadlineMs: 1, retry: { maxRetries: 1 } },
        undo: { type: 'a', input: 1, timeoutMs: 1, deadlineMs: 1, retry: { maxRetries: 1 } },
      },
    ],
    onCancel: 'leave',
  },
  paused: true,
  isFair: true,
  handlerSince: NOW,
  servedBy: 'workers',
  wasFlow: true,
  otherTypes: ['a'],
  formerSteps: ['b'],
  handlerVersion: '1',
  purges: EVERY_JOB.filter(job => job.kind === 'purge'),
  bulks: ['01JA'],
  lastBulks: ['01JA'],
  unapplied: ['relimit', 'reorder'],
  edits: 1,
  operations: [{ at: NOW, by: 'someone', what: 'pause' }],
  version: 1,
  createdAt: NOW,
  updatedAt: NOW,
}

/** Asks the adapters for every kind of write, one after the other. */
export async function exampleWrites({ ports, noteHead, publishEvents }: Mirror, names: Names): Promise<void> {
  for (const head of exampleHeads()) noteHead(head)
  await writeTasks(ports)
  await writeOthers(ports)
  await sendMessages(ports)
  publishEvents(
    EVENT_TYPES.map(type => ({ id: 'e', type, at: NOW, workerId: 'w1', error: { name: 'E', message: 'm' } })),
  )
  const documents = recordingDocuments(names)
  const spoilt = { pk: 'resize:k1', sk: 'head', born: BORN, rev: 1 }
  await documents.put(buryHead('tasks', spoilt, NOW))
}

async function writeTasks({ tasks }: Mirror['ports']): Promise<void> {
  const task = withEmptyBodies(EVERY_MEMBER)
  const refs = [
    bodyRef.input(BORN, 1, null),
    bodyRef.result(BORN, 1, null),
    bodyRef.previous(BORN, null),
    bodyRef.callbacks(BORN, 1, null),
    canvasRef.layout(BORN),
    canvasRef.page(BORN, 1),
  ]
  const bodies = refs.map(ref => ({ ref, value: null, expiresAt: NOW }))
  const run = { ref: bodyRef.run(BORN, 1), run: FULL_ENDED, expiresAt: NOW }
  const guard = { kind: 'absent' } as const
  await tasks.apply({ before: undefined, after: task, guard, bodies: [...bodies, run] })
  await tasks.recordLook(task, { hops: 1, name: 'a', until: NOW }, NOW)
  await tasks.renewBody(task.id, bodyRef.input(BORN, 1, null), NOW)
}

async function writeOthers({
  types,
  limits,
  turns,
  failures,
  activity,
  deadLetters,
  records,
  workers,
  targets,
  canvases,
}: Mirror['ports']): Promise<void> {
  const holder = { holder: 'h', taskId: 'resize:k1', since: NOW }
  await types.put(TYPE, 0)
  await types.put({ ...TYPE, configuration: { ...TYPE.configuration, onCancel: 'undo', kind: 'handler' } }, 1)
  await types.markFair(TYPE, 1)
  await limits.putSlots(
    'resize',
    { limit: 1, perMs: 1, counts: [[NOW, 1]], granted: 1 },
    { log: undefined, version: 0 },
    { expiresAt: NOW, returned: 1 },
  )
  await limits.acquire('resize', holder, 1)
  await limits.acquire('resize=a', { ...holder, holder: holderIn(1, '01K9ZZZZZZABCDEFGHJKMNPQRS') }, 1)
  await limits.release('resize', 'h')
  await limits.release('resize', 'h', NOW)
  await limits.renew('resize', 'h', NOW)
  for (const kind of ['slot', 'permit'] as const) {
    const line = { kind, limit: 'resize' }
    const sent = [{ at: NOW, times: 1, count: 1, granted: 1, ids: ['a'] }]
    const note = { lookAt: NOW, isClosed: true, emptyLooks: 0, sent }
    await limits.line(line)
    await limits.putLine(line, note, { note: undefined, version: 0 }, { isNoted: true })
    await limits.endLine(line, { note, version: 1 })
  }
  await limits.overdueLines(NOW, 1)
  await turns.advance('resize#0#a', 1, NOW)
  await turns.join('resize#0#a', { front: 1, count: 1, far: 1 }, NOW)
  await turns.noteFront('resize#0', 1, NOW)
  const failed = { type: 'resize', error: 'Error: #', hour: NOW, count: 1, firstAt: NOW, lastAt: NOW }
  await failures.add({ ...failed, exampleId: 'resize:a' })
  const everyKind = Object.fromEntries(ACTIVITY_KINDS.map(kind => [kind, 1]))
  await activity.add({ type: 'resize', minute: NOW, counts: everyKind, lateness: { 3: 1 } })
  const letter = aLetter({ error: 'no' })
  await deadLetters.put(letter, '{}')
  await deadLetters.put(letter, 'x'.repeat(3_000))
  await deadLetters.note({
    ...{ taskId: 'resize:k1', born: BORN, revision: 1, letterId: letter.id, kind: 'dispatch', at: NOW },
    ...{ receives: 1, expiresAt: NOW },
  })
  await records.putNew('minute#1', { at: NOW }, NOW)
  await records.put('sweep#schedule#1', null, NOW)
  await records.replace('bulk#1', { at: NOW }, null, NOW)
  await canvases.addEnds({ canvasId: 'c1', born: BORN }, 0, { ok: [1], bad: [2] }, NOW)
  const marker = { workerId: 'w1', taskId: 'resize:k1', born: BORN, revision: 1 }
  await targets.mark(marker)
  await targets.clear(marker)
  for (const kind of ['standalone', 'http'] as const) {
    await workers.announce({
      workerId: 'w1',
      kind,
      version: '1',
      types: ['resize'],
      typesSeen: { resize: NOW },
      running: 1,
      emptyWaits: 1,
      waitingUntil: NOW,
      startedAt: NOW,
      lastSeen: NOW,
    })
  }
}

async function sendMessages({ messages, timers }: Mirror['ports']): Promise<void> {
  const task = aTask()
  const after = { id: task.id, sort: 1 }
  await messages.dispatch([
    { task, delaySeconds: 1, passedOn: 1, hops: 1, freed: { limit: 'resize', shard: 1 } },
  ])
  await messages.look([{ id: task.id, born: BORN, revision: 1, hops: 1, delaySeconds: 1 }])
  await messages.lookAtMinute({ minute: 1, shard: 1, after })
  await messages.lookAtCanvases([{ id: task.id, born: BORN, from: 1, delaySeconds: 1 }])
  await messages.lookAtLimits([
    { line: { kind: 'slot', limit: 'resize' }, at: NOW, released: 1, shards: [1], delaySeconds: 1 },
  ])
  const buckets = ['open', 'compensating', 'succeeded', 'failed', 'cancelled'] as const
  const looks = EVERY_JOB.flatMap(job => buckets.map(bucket => ({ job, bucket })))
  await messages.continueJobs(
    looks.map(look => ({ ...look, type: 'resize', shard: 1, after, delaySeconds: 1 })),
  )
  await timers.ensureMinute(Math.floor(NOW / MINUTE) + 60)
}
