import { beforeEach, describe, expect, it } from 'vitest'
import { claim } from '../../shared/core/claim.ts'
import { BatonError } from '../../shared/core/errors.ts'
import { finish, type Outcome } from '../../shared/core/finish.ts'
import type { Json } from '../../shared/core/json.ts'
import { viewPartition } from '../../shared/core/place.ts'
import type { Task } from '../../shared/core/task.ts'
import { contentOf } from '../../shared/runtime/content-of.ts'
import { cancelTask, removeTask, restartTask, resumeTask } from '../../shared/runtime/operate-task.ts'
import { planChanges } from '../../shared/runtime/plan-changes.ts'
import type { PublishRequest } from '../../shared/runtime/publication-of.ts'
import { publish } from '../../shared/runtime/publish.ts'
import { sweep } from '../../shared/runtime/sweep.ts'
import { changeOf, DAY, MINUTE, SECOND } from '../support/a-task.ts'
import { DONE, failingFor } from '../support/flow-life.ts'
import { aMemorySystem, type MemorySystem, registered } from '../support/memory-system.ts'

let system: MemorySystem
let complaints: string[]
beforeEach(async () => {
  complaints = []
  const log = {
    debug: () => {},
    info: () => {},
    warn: () => {},
    error: (text: string) => complaints.push(text),
  }
  system = { ...aMemorySystem(), log }
  for (const type of ['work', 'mail']) await registered(system, { type })
})

async function published(request: Partial<PublishRequest> = {}): Promise<Task> {
  const outcome = await publish(system, { type: 'work', key: 'k', ...request })
  if (!outcome.ok) throw new Error(JSON.stringify(outcome))
  return outcome.task
}

/** The task after a run of it has ended so. */
async function ended(task: Task, outcome: Outcome = DONE): Promise<Task> {
  const now = system.clock.now()
  const { after } = changeOf(claim(task, { workerId: 'w1' }, now))
  await system.tasks.apply(changeOf(claim(task, { workerId: 'w1' }, now)))
  const finished = await system.tasks.apply(
    changeOf(finish(after, { born: task.born, fence: after.fence, ...outcome }, now, 0)),
  )
  if (!finished.applied) throw new Error('not ended')
  return finished.task
}

/** What the stream says of the task reaches the planner. Answers the positions that must come again. */
const planned = (task: Task, on = system) => planChanges(on, [{ task, position: 'p' }])

const head = async (id: string) => (await system.tasks.head(id)) as Task

/** Open tasks of the type. */
async function waiting(type = 'mail'): Promise<Task[]> {
  const { entries } = await system.tasks.page({
    index: 'view',
    partition: viewPartition(type, 'open', 0),
    limit: 100,
  })
  return system.tasks.heads(entries.map(({ id }) => id))
}

const MAIL = { type: 'mail' }

/** The one callback of a task with this end, as its worker is given it. */
async function givenTo(
  request: Partial<PublishRequest>,
  callback: Partial<PublishRequest>,
  outcome: Outcome,
) {
  const all = [{ ...MAIL, ...callback }]
  await planned(await ended(await published({ onSuccess: all, onError: all, ...request }), outcome))
  const [child] = await waiting()
  return child && { child, ...(await contentOf(system, child)) }
}

describe('the end of a task', () => {
  it('publishes what follows it, once, and is settled then', async () => {
    const task = await published({ onSuccess: [MAIL, { ...MAIL, key: 'own' }], onError: [{ type: 'work' }] })
    const over = await ended(task)
    expect(over).toMatchObject({ state: 'succeeded', owes: true, view: { bucket: 'open' } })

    await planned(over)

    const [first, second] = (await waiting()).sort((a, b) => a.key.localeCompare(b.key))
    expect(first?.key).toMatch(`${task.born}.`)
    expect(second?.key).toBe('own')
    expect(await waiting('work')).toEqual([])
    expect(await head(task.id)).toMatchObject({ operation: 'settle', view: { bucket: 'succeeded' } })
    expect((await head(task.id)).owes).toBeUndefined()
  })

  it('publishes the others after a failure, once its retries are used up', async () => {
    const options = { retry: { maxRetries: 1, delayMs: 0 } }
    const task = await published({ options, onSuccess: [MAIL], onError: [MAIL, MAIL, MAIL] })

    const once = await ended(task, failingFor('no', false))
    await planned(once)
    const before = await waiting()
    await planned(await ended(once, failingFor('no', false)))

    expect(before).toEqual([])
    expect(await waiting()).toHaveLength(3)
  })

  it.each([
    ['has nothing to follow', { onError: [MAIL] }, DONE],
    ['has nothing to follow a failure', { onSuccess: [MAIL] }, failingFor('no')],
  ])('owes nothing when it %s', async (_name, request, outcome) => {
    const over = await ended(await published(request), outcome)

    expect(over.owes).toBeUndefined()
    expect(await planned(over)).toEqual([])
    expect((await head(over.id)).revision).toBe(over.revision)
  })

  it.each([
    ['cancelled', cancelTask],
    ['removed', removeTask],
  ])('owes nothing when it is %s', async (_name, operate) => {
    const task = await published({ onSuccess: [MAIL], onError: [MAIL] })

    await operate(system, task.id)
    await planned(await head(task.id))

    expect((await head(task.id)).owes).toBeUndefined()
    expect(await waiting()).toEqual([])
  })
})

describe('what is published twice is there once', () => {
  it.each([
    ['was removed', async (child: Task) => void (await removeTask(system, child.id))],
    ['has expired', async (child: Task) => void (await ended(child)) ?? system.clock.advance(60 * DAY)],
    ['is still there', async () => {}],
  ])('when the stream is read again though the callback %s', async (_name, meanwhile) => {
    const over = await ended(await published({ onSuccess: [MAIL], options: { retentionMs: 90 * DAY } }))
    await planned(over)
    const [child] = await waiting()
    await meanwhile(child as Task)
    const left = await waiting()

    expect(await planned(over)).toEqual([])

    expect(await waiting()).toEqual(left)
  })

  it('when the planner dies between publishing and settling', async () => {
    const over = await ended(await published({ onSuccess: [MAIL, MAIL] }))
    const dying: MemorySystem = {
      ...system,
      tasks: {
        ...system.tasks,
        apply: async change => {
          if (change.after.operation === 'settle') throw new BatonError('unavailable', 'died')
          return system.tasks.apply(change)
        },
      },
    }

    expect(await planned(over, dying)).toEqual(['p'])
    expect(await waiting()).toHaveLength(2)
    await planned(over)

    expect(await waiting()).toHaveLength(2)
    expect((await head(over.id)).owes).toBeUndefined()
  })

  it('when two planners are at it', async () => {
    const over = await ended(await published({ onSuccess: [MAIL, MAIL] }))

    await Promise.all([planned(over), planned(over), planned(over)])

    expect(await waiting()).toHaveLength(2)
  })
})

describe('nothing that is owed is lost', () => {
  it('the sweeper publishes what no planner did', async () => {
    const over = await ended(await published({ onSuccess: [MAIL] }))
    await system.clock.advance(11 * SECOND)

    const report = await sweep(system)

    expect(report).toMatchObject({ repaired: 1, failed: 0 })
    expect(await waiting()).toHaveLength(1)
    expect((await head(over.id)).view?.bucket).toBe('succeeded')
  })

  it('the change comes again when the store does not answer', async () => {
    const over = await ended(await published({ onSuccess: [MAIL] }))
    const types = { ...system.types, get: () => Promise.reject(new BatonError('unavailable', 'no answer')) }

    expect(await planned(over, { ...system, types })).toEqual(['p'])
    await planned(over)

    expect(await waiting()).toHaveLength(1)
  })

  it('a task is started over only after what its end owes is published', async () => {
    const over = await ended(await published({ onSuccess: [MAIL] }))

    const byPublish = await publish(system, { type: 'work', key: 'k', ifExists: 'restart' })
    const byPerson = await restartTask(system, over.id)

    expect(byPublish).toMatchObject({ ok: false, reason: 'running' })
    expect(byPerson.ok).toBe(true)
    expect(await waiting()).toHaveLength(1)
    expect(await head(over.id)).toMatchObject({ state: 'open', callbacks: { onSuccess: 1 } })
  })

  it('and its next end calls back again', async () => {
    const over = await ended(await published({ onSuccess: [MAIL] }))
    await restartTask(system, over.id)

    await planned(await ended(await head(over.id)))

    expect(await waiting()).toHaveLength(2)
  })

  it('what cannot be published any more is told, and keeps nothing else from being', async () => {
    const over = await ended(
      await published({ onSuccess: [{ ...MAIL, options: { concurrency: 2 } }, { type: 'work' }] }),
    )
    const type = await system.types.get('mail')
    const steps = [{ name: 'a', do: { type: 'work' } }]
    if (type)
      await system.types.put({ ...type, version: 2, configuration: { kind: 'flow', defaults: {}, steps } }, 1)

    expect(await planned(over)).toEqual([])

    expect(complaints).toEqual(['a callback cannot be published any more'])
    expect(await waiting('work')).toHaveLength(1)
    expect((await head(over.id)).owes).toBeUndefined()
  })
})

describe('a callback', () => {
  it('inherits user and trace, unless it has its own, and names its parent', async () => {
    const trace = `00-${'1'.repeat(32)}-${'2'.repeat(16)}-01`
    const task = await published({
      userId: 'ann',
      traceparent: trace,
      onSuccess: [MAIL, { ...MAIL, userId: 'bob' }],
    })
    await planned(await ended(task))

    const children = await waiting()

    expect(children.map(({ userId }) => userId).sort()).toEqual(['ann', 'bob'])
    for (const child of children) {
      expect(child.parentId).toBe(task.id)
      expect(child.traceparent?.slice(3, 35)).toBe('1'.repeat(32))
    }
  })

  it('may have callbacks, which are published at its own end', async () => {
    const nested = { ...MAIL, onSuccess: [{ type: 'work', key: 'last', onError: [MAIL] }] }
    await planned(await ended(await published({ onSuccess: [nested] })))
    const [child] = await waiting()
    expect(await system.tasks.head('work:last')).toBeUndefined()

    await planned(await ended(child as Task, { ...DONE, result: 5 }))

    expect(await head('work:last')).toMatchObject({
      parentId: child?.id,
      callbacks: { onSuccess: 0, onError: 1 },
    })
    expect(await contentOf(system, await head('work:last'))).toEqual({ previous: 5 })
  })

  it.each<[string, Json | undefined, Json | undefined]>([
    ['appended to an array', [1], [1, { ok: true }]],
    ['beside an object', { a: 1 }, { a: 1 }],
    ['beside nothing', undefined, undefined],
  ])('gets the result %s', async (_name, input, effective) => {
    const given = await givenTo({}, input === undefined ? {} : { input }, { ...DONE, result: { ok: true } })

    expect(given?.input).toEqual(effective)
    expect(given?.previous).toEqual({ ok: true })
  })

  it('gets nothing of a task without a result', async () => {
    const given = await givenTo({}, { input: [1] }, DONE)

    expect(given?.input).toEqual([1])
    expect(given).not.toHaveProperty('previous')
  })

  it('gets the error’s message first, and all of the error', async () => {
    const message = 'no '.repeat(300)
    const error = { name: 'TypeError', message, stack: 'at work' }

    const given = await givenTo({}, { input: ['to', 'ann'] }, { outcome: 'fail', error, fatal: true })

    expect((await head('work:k')).error?.message.length).toBeLessThan(200)
    expect(given?.input).toEqual([message, 'to', 'ann'])
    expect(given?.previous).toEqual({ error, taskId: 'work:k' })
  })

  it('gets nothing when it is immutable', async () => {
    const given = await givenTo({}, { input: [1], immutable: true }, { ...DONE, result: 2 })

    expect(given?.input).toEqual([1])
    expect(given?.child.previous).toBeUndefined()
  })

  it('reads a large result where it is kept', async () => {
    const result = 'x'.repeat(2_000)

    const given = await givenTo({}, { input: [] }, { ...DONE, result })

    expect(given?.child.previous).toMatchObject({ kind: 'result', taskId: 'work:k', bytes: 2_002 })
    expect(given?.input).toEqual([result])
  })

  it('that is due long after still finds it', async () => {
    const renewed: unknown[] = []
    const { renewBody } = system.tasks
    const spying = {
      ...system.tasks,
      renewBody: (...all: Parameters<typeof renewBody>) => void renewed.push(all) ?? renewBody(...all),
    }
    system = { ...system, tasks: spying }
    const far = system.clock.now() + 365 * DAY

    await givenTo({}, { dueAt: far }, { ...DONE, result: 'x'.repeat(2_000) })

    expect(renewed).toEqual([['work:k', expect.stringContaining('out#'), far + 37 * DAY]])
  })
})

describe('what follows is held against its type when the task is published', () => {
  it.each<[string, Partial<PublishRequest>, string]>([
    ['of no registered type', { onSuccess: [MAIL, { type: 'nobody' }] }, 'onSuccess.1.type'],
    ['nested', { onError: [{ ...MAIL, onSuccess: [{ type: 'nobody' }] }] }, 'onError.0.onSuccess.0.type'],
    [
      'with impossible options',
      { onError: [{ ...MAIL, options: { heartbeatMs: 9_000, leaseMs: 5_000 } }] },
      'onError.0.heartbeatMs',
    ],
    ['of a flow, without an object', { onSuccess: [{ type: 'order', input: [1] }] }, 'onSuccess.0.input'],
    [
      'of a flow, with options of its steps',
      { onSuccess: [{ type: 'order', options: { concurrency: 2 } }] },
      'onSuccess.0.concurrency',
    ],
  ])('%s', async (_name, request, path) => {
    const configuration = { kind: 'flow', defaults: {}, steps: [{ name: 'a', do: MAIL }] } as const
    await registered(system, { type: 'order', configuration })

    const refused = await publish(system, { type: 'work', key: 'k', ...request })

    expect(refused).toMatchObject({ ok: false, reason: 'invalid', problems: [{ path }] })
    expect(await system.tasks.head('work:k')).toBeUndefined()
  })
})

describe('a flow', () => {
  const order = async (more: object = {}) => {
    const steps = [{ name: 'a', do: { type: 'work' }, undo: { type: 'work' } }]
    await registered(system, {
      type: 'order',
      configuration: { kind: 'flow', defaults: {}, steps, shards: 1 },
    })
    return published({ type: 'order', onSuccess: [MAIL], onError: [{ ...MAIL, input: [] }], ...more })
  }

  it('calls back with the result of its last step', async () => {
    await planned(await ended(await order(), { ...DONE, result: 'done' }))

    const [child] = await waiting()
    expect(child && (await contentOf(system, child)).previous).toBe('done')
  })

  it('calls back once it has undone, with what its failed step said', async () => {
    const undoing = await ended(await order(), failingFor('no'))
    await planned(undoing)
    expect(await waiting()).toEqual([])

    await planned(await ended(undoing))

    const [child] = await waiting()
    expect(child && (await contentOf(system, child)).input).toEqual(['no'])
  })

  it('calls back at each of its ends when it is taken up again, though no run was between them', async () => {
    const halted = await ended(await ended(await order(), failingFor('no')), failingFor('bank closed'))
    await planned(halted)
    await system.clock.advance(MINUTE)
    await resumeTask(system, halted.id, 'skip-undo')
    const again = await head(halted.id)
    expect(again).toMatchObject({ state: 'failed', owes: true })

    await planned(again)
    await planned(halted)

    expect(await waiting()).toHaveLength(2)
  })

  it('calls back for its failure though it is taken up before the planner comes, and for its success then', async () => {
    const halted = await ended(await ended(await order(), failingFor('no')), failingFor('bank closed'))

    await resumeTask(system, halted.id, 'retry-do')
    await planned(await ended(await head(halted.id)))
    await planned(halted)

    const inputs = await Promise.all((await waiting()).map(child => contentOf(system, child)))
    expect(inputs.map(({ input }) => input)).toEqual(expect.arrayContaining([['no'], undefined]))
    expect(inputs).toHaveLength(2)
  })
})
