import fc from 'fast-check'
import type { Change } from '../../../shared/core/change.ts'
import { type ResumeAction, resume } from '../../../shared/core/flow/resume.ts'
import { endWait, joinLine } from '../../../shared/core/limits/limits.ts'
import type { Clean } from '../../../shared/core/operate/operate.ts'
import {
  cancel,
  recordCallbacksPublished,
  recordUnpublishable,
  remove,
  restart,
} from '../../../shared/core/operate/operate.ts'
import { type Patch, patch } from '../../../shared/core/operate/patch.ts'
import { type PartialOptions, resolveOptions } from '../../../shared/core/options.ts'
import type { CallbackBodies, Publication } from '../../../shared/core/publish.ts'
import { create, isGone, update } from '../../../shared/core/publish.ts'
import { claim, failRefusedClaim } from '../../../shared/core/run/claim.ts'
import { endOfComplete, finish } from '../../../shared/core/run/finish.ts'
import { heartbeat, lose } from '../../../shared/core/run/lease.ts'
import type { Outcome } from '../../../shared/core/run/run.ts'
import type { TypeKind } from '../../../shared/core/states.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import type { Json } from '../../../shared/core/values/values.ts'
import { look } from '../../../shared/core/wake.ts'
import { aFlow, aPublication, changeIn, DAY, HOUR, MINUTE, NOW, SECOND } from './a-task.ts'
import { nextWake } from './next-wake.ts'

/** Everything that can happen to one key, as data. The property tests play random sequences of these steps. */
export type Step =
  | { readonly do: 'publish' | 'update'; readonly body: Body }
  | {
      readonly do: 'restart'
      readonly body: Body
      readonly clean: Clean
      readonly keepInput: boolean
      readonly evenWaiting: boolean
    }
  | { readonly do: 'claim' | 'refuse'; readonly workerId: string }
  /** `run` picks one of all runs, ended ones included, so that workers also report about runs that they have lost. */
  | { readonly do: 'beat'; readonly run: number; readonly progress?: Json }
  | { readonly do: 'finish'; readonly run: number; readonly outcome: Outcome }
  | { readonly do: 'patch'; readonly changes: Omit<Patch, 'dueAt'> & { readonly dueInMs?: number } }
  | { readonly do: 'resume'; readonly action: ResumeAction }
  | { readonly do: 'lose' | 'look' | 'cancel' | 'remove' | 'settle' | 'owe' }
  | { readonly do: 'throttle' | 'block' | 'unblock' }
  | { readonly do: 'wait'; readonly ms: number }
  | { readonly do: 'waitForWake' }

type Body = {
  readonly kind: TypeKind
  readonly dueInMs: number
  readonly options: PartialOptions
  readonly input?: Json
  readonly stage?: string
  readonly callbacks?: CallbackBodies
}

/** One key, its clock, and every run that was ever claimed on it. */
export type World = {
  readonly task: Task | undefined
  readonly now: number
  readonly births: number
  readonly runs: ReadonlyArray<{ readonly born: string; readonly fence: number }>
}

export const EMPTY_WORLD: World = { task: undefined, now: NOW, births: 0, runs: [] }

/** The change that a step decides on in a world; undefined if the step is impossible there. */
export function decide(world: World, step: Step): Change<Task> | undefined {
  const { task, now } = world
  // Like every process that reads a complete head, a step first writes the end.
  const end = task && endOfComplete(task)
  if (end) return end
  if (step.do === 'publish')
    return isGone(task, now) ? create(published(world, step.body), task, now) : undefined
  if (step.do === 'beat')
    return changeIn(heartbeat(task, { ...aRunOf(world, step.run), ...progressOf(step) }, now))
  if (step.do === 'finish')
    return changeIn(finish(task, { ...aRunOf(world, step.run), ...step.outcome }, now, 0.5))
  return task && decideOnTask(world, task, step)
}

function decideOnTask(world: World, task: Task, step: Step): Change<Task> | undefined {
  const { now } = world
  switch (step.do) {
    case 'update':
      return changeIn(update(task, published(world, step.body), now))
    case 'restart':
      return changeIn(restart(task, { ...step, publication: published(world, step.body) }, now))
    case 'claim':
      return changeIn(claim(task, { workerId: step.workerId }, now))
    case 'refuse':
      return changeIn(failRefusedClaim(task, { workerId: step.workerId }, 'no', now, 0.5))
    case 'patch': {
      const { dueInMs, ...changes } = step.changes
      return changeIn(
        patch(task, { ...changes, ...(dueInMs !== undefined && { dueAt: now + dueInMs }) }, now),
      )
    }
    case 'throttle':
      return changeIn(joinLine(task, { kind: 'slot', limit: 'resize' }, now))
    case 'block':
      return changeIn(joinLine(task, { kind: 'permit', limit: 'resize=a' }, now))
    case 'unblock':
      return changeIn(endWait(task, now))
    case 'lose':
      return changeIn(lose(task, now))
    case 'look':
      return changeIn(look(task, now, 0.5))
    case 'resume':
      return changeIn(resume(task, step.action, now))
    case 'settle':
      return changeIn(recordCallbacksPublished(task, now))
    case 'owe':
      return changeIn(
        recordUnpublishable(
          task,
          { indices: [0], problems: [], judgedAt: now, revision: task.revision },
          now,
        ),
      )
    case 'cancel':
      return changeIn(cancel(task, now))
    case 'remove':
      return task.state === 'removed' ? undefined : remove(task, now)
    default:
      return undefined
  }
}

/** The world after a step whose change was written. */
export function advance(world: World, step: Step, change: Change<Task> | undefined): World {
  if (step.do === 'wait') return { ...world, now: world.now + step.ms }
  if (step.do === 'waitForWake') {
    const wake = world.task && world.task.state !== 'removed' ? nextWake(world.task, world.now) : undefined
    return { ...world, now: Math.max(world.now, wake ?? 0) }
  }
  if (!change) return world
  const { after, before } = change
  const isClaim = after.operation === 'claim'
  return {
    ...world,
    task: after,
    births: after.born === before?.born ? world.births : world.births + 1,
    runs: isClaim ? [...world.runs, { born: after.born, fence: after.fence }] : world.runs,
  }
}

function published({ now, births }: World, { dueInMs, ...body }: Body): Publication {
  const born = `01KDX3A${String(births).padStart(19, '0')}`
  const { stage, ...rest } = body
  if (body.kind !== 'flow') return aPublication({ ...body, dueAt: now + dueInMs, born })
  const { retentionMs, deadlineMs } = resolveOptions(body.options)
  const options = { ...(retentionMs && { retentionMs }), ...(deadlineMs !== undefined && { deadlineMs }) }
  return aPublication({
    ...rest,
    options,
    dueAt: now + dueInMs,
    born,
    flow: FLOWS[births % FLOWS.length] ?? aFlow(),
  })
}

const FLOWS = [
  aFlow(),
  aFlow({ onCancel: 'leave', steps: [{ name: 'one' }, { name: 'two' }] }),
  aFlow({ steps: [{ name: 'one', undo: { options: resolveOptions({ deadlineMs: MINUTE }) } }] }),
]

function aRunOf({ runs }: World, pick: number): { born: string; fence: number } {
  return runs.at(-1 - (pick % Math.max(1, runs.length))) ?? { born: 'none', fence: 1 }
}

function progressOf(step: { progress?: Json }): { progress?: Json } {
  return step.progress === undefined ? {} : { progress: step.progress }
}

export const WORKERS = ['w1', 'w2', 'w3', 'constructor'] as const
const workerId = fc.constantFrom(...WORKERS)
/** The latest runs are picked most often. */
const run = fc.oneof({ weight: 4, arbitrary: fc.constantFrom(0, 0, 1) }, { weight: 1, arbitrary: fc.nat(20) })
const dueInMs = fc.constantFrom(0, 0, 0, SECOND, HOUR, -MINUTE)
const body = fc.constantFrom<Json>(null, 1, 'small', 'large'.repeat(100))

const optionParts = {
  concurrency: fc.constantFrom(1, 1, 2, 3),
  workerIds: fc.constantFrom<string[]>([], [], ['w1', 'w2', 'w3'], ['w2', 'w3', 'constructor'], [...WORKERS]),
  timeoutMs: fc.constantFrom(5 * SECOND, HOUR),
  deadlineMs: fc.constantFrom(30 * SECOND, 2 * HOUR),
  retentionMs: fc.constantFrom(MINUTE, DAY),
  retry: fc.record(
    {
      maxRetries: fc.nat(3),
      scope: fc.constantFrom('task' as const, 'worker' as const),
      delayMs: fc.constantFrom(0, SECOND, HOUR),
      maxDelayMs: fc.constant(DAY),
    },
    { requiredKeys: [] },
  ),
}

export const options = fc.record(optionParts, { requiredKeys: [] })
const kind = fc.constantFrom<TypeKind>('handler', 'http', 'webhook', 'flow', 'flow')
const stage = fc.constantFrom('one', 'two')
const next = fc.record(
  { stage, input: body, delayMs: fc.constantFrom(0, SECOND), priority: fc.integer() },
  { requiredKeys: ['stage'] },
)
const publication = fc.record(
  {
    kind,
    dueInMs,
    options,
    input: body,
    stage,
    callbacks: fc.constantFrom(
      { onSuccess: ['large'.repeat(100)], onError: [] },
      { onSuccess: [], onError: [1] },
    ),
  },
  { requiredKeys: ['kind', 'dueInMs', 'options'] },
)
const error = fc.constant({ name: 'Error', message: 'no', stack: 'at handler' })

const outcome = fc.oneof(
  fc.record({ outcome: fc.constant('succeed' as const), result: body }, { requiredKeys: ['outcome'] }),
  fc.record({ outcome: fc.constant('succeed' as const), next }),
  fc.record(
    {
      outcome: fc.constant('fail' as const),
      error,
      fatal: fc.constantFrom(false, false, false, true),
      retryInMs: fc.constantFrom(0, HOUR),
    },
    { requiredKeys: ['outcome', 'error'] },
  ),
  fc.record({ outcome: fc.constant('release' as const), delayMs: dueInMs }, { requiredKeys: ['outcome'] }),
)

const changes = fc.record(
  { dueInMs, priority: fc.integer(), input: body, stage, tags: fc.constant({ a: 'b' }), options },
  { requiredKeys: [] },
)

const wait = fc.record({
  do: fc.constant('wait' as const),
  ms: fc.constantFrom(1, SECOND, 16 * SECOND, MINUTE, HOUR, 16 * DAY),
})

const limited = fc.oneof(
  fc.record({ do: fc.constantFrom('throttle' as const, 'block' as const, 'unblock' as const) }),
)

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant('publish' as const), body: publication }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('update' as const), body: publication }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('restart' as const),
      body: publication,
      clean: fc.subarray(['failed' as const, 'succeeded' as const]),
      keepInput: fc.boolean(),
      evenWaiting: fc.boolean(),
    }),
  },
  { weight: 12, arbitrary: fc.record({ do: fc.constant('claim' as const), workerId }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('refuse' as const), workerId }) },
  {
    weight: 4,
    arbitrary: fc.record(
      { do: fc.constant('beat' as const), run, progress: body },
      { requiredKeys: ['do', 'run'] },
    ),
  },
  { weight: 8, arbitrary: fc.record({ do: fc.constant('finish' as const), run, outcome }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('patch' as const), changes }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constantFrom('lose' as const, 'look' as const, 'look' as const) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('cancel' as const, 'remove' as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('resume' as const),
      action: fc.constantFrom<ResumeAction>('retry-do', 'retry-undo', 'skip-undo', 'continue'),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('settle' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('owe' as const) }) },
  { weight: 1, arbitrary: limited },
  { weight: 4, arbitrary: wait },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('waitForWake' as const) }) },
)

/** A life of one key: it is published, then anything happens in any order. */
export const steps: fc.Arbitrary<Step[]> = fc
  .tuple(publication, fc.array(step, { minLength: 10, maxLength: 60, size: 'max' }))
  .map(([first, rest]) => [{ do: 'publish', body: first }, ...rest])
