import { describe, expect, it } from 'vitest'
import type { Change } from '../../../shared/core/change.ts'
import { withFailedPiece } from '../../../shared/core/flow/pieces.ts'
import { finish } from '../../../shared/core/run/finish.ts'
import type { Outcome } from '../../../shared/core/run/run.ts'
import { liveRuns, type Task } from '../../../shared/core/task/task.ts'
import type { TypeLimits } from '../../../shared/core/types/task-type.ts'
import type { Json } from '../../../shared/core/values/values.ts'
import { claimTask } from '../../../shared/runtime/claim/claim.ts'
import { transact } from '../../../shared/runtime/kernel/kernel.ts'
import { limitRulesOf } from '../../../shared/runtime/limits/line.ts'
import { restartTask } from '../../../shared/runtime/operate/operate.ts'
import { patchTask } from '../../../shared/runtime/operate/patch-task.ts'
import { publish } from '../../../shared/runtime/publish/publish.ts'
import type { PublishRequest } from '../../../shared/runtime/publish/resolve-publication.ts'
import { NOW } from '../../support/tasks/a-task.ts'
import { aMemorySystem, type MemorySystem, registered, timed } from '../../support/worlds/memory-system.ts'

const ERROR = { name: 'Error', message: 'no' }
const FAILED: Outcome = { outcome: 'fail', fatal: true, error: ERROR }
/** Too long for the head: such an input is an item of its own. */
const PADDING = 'x'.repeat(300)

type Act = (system: MemorySystem, task: Task) => Promise<Task>

async function ended(system: MemorySystem, task: Task, outcome: Outcome): Promise<Task> {
  const workerId = task.options.workerIds[0] ?? 'w1'
  const claimed = await timed(system, claimTask(system, task, { workerId, version: '9' }))
  if ('refused' in claimed) throw new Error(claimed.refused)
  const word = { born: task.born, fence: claimed.run.fence, ...outcome }
  return written(system, claimed.task, current => finish(current, word, system.clock.now(), 0))
}

async function written(
  system: MemorySystem,
  seen: Task,
  decide: (current: Task | undefined) => { ok: boolean; change?: Change<Task> | undefined },
): Promise<Task> {
  const { head: task } = await transact(
    system,
    seen,
    current => decide(current) as { ok: true; change: Change<Task> },
  )
  if (!task) throw new Error('nothing was written')
  return task
}

async function restarted(system: MemorySystem, { id }: Task): Promise<Task> {
  const outcome = await restartTask(system, id)
  if (!outcome.ok) throw new Error(outcome.reason)
  return outcome.task
}

async function patched(system: MemorySystem, { id }: Task, changes: object): Promise<Task> {
  const outcome = await patchTask(system, id, changes)
  if (!outcome.ok) throw new Error(outcome.reason)
  return outcome.task
}

async function published(system: MemorySystem, request: Partial<PublishRequest>): Promise<Task> {
  const outcome = await publish(system, { type: 'resize', key: 'a', ...request })
  if (!outcome.ok) throw new Error(JSON.stringify(outcome))
  return outcome.task
}

async function limitedBy(system: MemorySystem, task: Task): Promise<(string | undefined)[]> {
  const { rates, concurrencies } = await limitRulesOf(system, task)
  return [...rates, ...concurrencies].map(({ name }) => name)
}

async function aSystem(limits: TypeLimits): Promise<MemorySystem> {
  const system = aMemorySystem()
  const configuration = { kind: 'handler' as const, defaults: {}, shards: 1, limits }
  await registered(system, { configuration })
  const steps = [
    { name: 'first', do: { type: 'resize' }, undo: { type: 'resize' } },
    { name: 'second', do: { type: 'resize' }, undo: { type: 'resize' } },
  ]
  await registered(system, { type: 'order', configuration: { kind: 'flow', defaults: {}, shards: 1, steps } })
  return system
}

describe('restart and stages keep all fields that place or limit a task', () => {
  /** The fields of a publish that place, limit or trace a task, without its options. */
  const PLAIN = {
    userId: 'u1',
    fairnessKey: 'tenant-1',
    tags: { team: 'a' },
    priority: 7,
    traceparent: `00-${'1'.repeat(32)}-${'2'.repeat(16)}-01`,
    parentId: 'parent:1',
    previous: { kind: 'value', handOn: 'result', value: 1 },
    member: { canvasId: 'canvas:c', born: 'x', leaf: 0 },
    onSuccess: [{ type: 'resize', key: 'next' }],
  } as unknown as Partial<PublishRequest>
  const OPTIONS = {
    workerIds: ['w7'],
    minWorkerVersion: '1.2',
    leaseMs: 20_000,
    timeoutMs: 30_000,
    retentionMs: 86_400_000 * 3,
    retry: { maxRetries: 5 },
  }
  const IN_STAGE = { ...PLAIN, stage: 'one', options: OPTIONS }
  const SMALL = { shop: 'ONE' }
  const LARGE = { shop: 'ONE', PADDING }

  /** The fields that each act must keep. The options of a flow are left out, because they are those of its present step. */
  function keptOf(task: Task): object {
    const { userId, fairnessKey, tags, priority, traceparent, parentId, previous, callbacks } = task
    const { place, shard, ordering, kind, member, flow } = task
    return {
      ...{ userId, fairnessKey, tags, priority, traceparent, parentId, previous, callbacks },
      ...{ shard, ordering, kind, member },
      ...(place && { place: { ...place, order: expect.any(String) } }),
      ...(!flow && { options: task.options }),
    }
  }

  const TABLE: ReadonlyArray<[string, Partial<PublishRequest>, Act, { stage?: string }]> = [
    ['a restart', IN_STAGE, async (s, task) => restarted(s, await ended(s, task, FAILED)), { stage: 'one' }],
    [
      'a next stage',
      IN_STAGE,
      (s, task) => ended(s, task, { outcome: 'succeed', next: { stage: 'two' } }),
      { stage: 'two' },
    ],
    ['a stage set by a patch', IN_STAGE, (s, task) => patched(s, task, { stage: 'two' }), { stage: 'two' }],
    ['a patch', IN_STAGE, (s, task) => patched(s, task, { tags: { team: 'a' } }), { stage: 'one' }],
    [
      'an update that names no tenant',
      IN_STAGE,
      (s, { tags, priority }) =>
        published(s, {
          ...{ ...(tags && { tags }), priority, options: OPTIONS, ifExists: 'update' },
          ...{ input: LARGE, onSuccess: [{ type: 'resize', key: 'next' }] },
        }),
      { stage: 'one' },
    ],
    ['a release', IN_STAGE, (s, task) => ended(s, task, { outcome: 'release' }), { stage: 'one' }],
    [
      'the next step of a flow',
      { ...PLAIN, type: 'order' },
      (s, task) => ended(s, task, { outcome: 'succeed', result: 1 }),
      {},
    ],
    ['the undo of a flow', { ...PLAIN, type: 'order' }, (s, task) => ended(s, task, FAILED), {}],
    [
      'the restart of a flow',
      { ...PLAIN, type: 'order' },
      async (s, task) => {
        const undoing = await ended(s, task, FAILED)
        const failed = await written(s, undoing, current =>
          current ? { ok: true, change: failedUndo(current) } : { ok: false },
        )
        return restarted(s, failed)
      },
      {},
    ],
  ]

  /** The change that ends a flow whose undo has failed for good, too. */
  function failedUndo(task: Task): Change<Task> {
    const after = { ...withFailedPiece(task, NOW, ERROR), revision: task.revision + 1 }
    const { owes: _published, ...settled } = after
    const guard = { kind: 'revision' as const, born: task.born, revision: task.revision, leases: [] }
    return { before: task, after: settled, guard, bodies: [] }
  }

  describe.each([
    ['small', SMALL],
    ['large', LARGE],
  ])('with a %s input', (_size, input) => {
    it.each(TABLE)('%s', async (_what, request, act, { stage }) => {
      const system = await aSystem({
        rate: { limit: 100, perMs: 1_000, key: 'fairnessKey' },
        concurrency: { max: 5, key: 'shop' },
      })
      const task = await published(system, { ...request, input })

      const after = await act(system, task)

      expect(after).toMatchObject(keptOf(task))
      expect(after.stage).toBe(stage)
      expect(after.state).toBe('open')
      expect(liveRuns(after)).toEqual([])
      expect(await limitedBy(system, after)).toEqual(['resize=tenant-1', 'resize=ONE'])
    })
  })

  it('including the tenant of a restarted flow whose steps have other types since', async () => {
    const system = await aSystem({})
    const task = await published(system, { type: 'order', fairnessKey: 'tenant-1' })
    const cancelled = await ended(system, task, FAILED)
    await written(system, cancelled, current =>
      current ? { ok: true, change: failedUndo(current) } : { ok: false },
    )
    await registered(system, { type: 'other' })
    const order = await system.types.get('order')
    if (!order) throw new Error('no type')
    const steps = [{ name: 'first', do: { type: 'other' } }]
    const changed = { ...order, configuration: { ...order.configuration, steps }, version: order.version + 1 }
    await system.types.put(changed, order.version)

    const after = await restarted(system, task)

    expect(after.place).toMatchObject({ name: 'ready#other#0', order: expect.stringMatching(/^2\d{15}$/) })
    expect((await system.types.get('other'))?.isFair).toBe(true)
  })
})

describe('a task counts under the limit of the input that it has now', () => {
  const of = (shop: string, isLarge: boolean): Json => ({ shop, ...(isLarge && { PADDING }) })
  const CHANGES: ReadonlyArray<[string, (system: MemorySystem, task: Task, input: Json) => Promise<Task>]> = [
    [
      'by the word of its run',
      (s, task, input) => ended(s, task, { outcome: 'succeed', next: { stage: 'two', input } }),
    ],
    ['by a patch', (s, task, input) => patched(s, task, { input })],
    ['by an update', (s, _task, input) => published(s, { input, ifExists: 'update' })],
    ['by a restart', (s, _task, input) => published(s, { input, ifExists: 'restart' })],
  ]
  const SIZES = [true, false].flatMap(from => [true, false].map(to => [from, to] as const))

  describe.each(CHANGES)('which is set %s', (_by, change) => {
    it.each(SIZES)('from one that is large (%s) to one that is large (%s)', async (from, to) => {
      const system = await aSystem({ rate: { limit: 100, perMs: 1_000, key: 'shop' } })
      const task = await published(system, { input: of('ONE', from), stage: 'one' })
      expect(await limitedBy(system, task)).toEqual(['resize=ONE'])

      const after = await change(system, task, of('TWO', to))

      expect(await limitedBy(system, after)).toEqual(['resize=TWO'])
      const back = await change(system, after, of('THREE', from))
      expect(await limitedBy(system, back)).toEqual(['resize=THREE'])
    })
  })

  it('also when it is a flow, which counts under the input that its step is given', async () => {
    const system = await aSystem({ rate: { limit: 100, perMs: 1_000, key: 'shop' } })
    const steps = [
      { name: 'first', do: { type: 'resize' } },
      { name: 'second', do: { type: 'resize', input: { shop: 'STEP' } } },
    ]
    await registered(system, {
      type: 'sale',
      configuration: { kind: 'flow', defaults: {}, shards: 1, steps },
    })
    const task = await published(system, { type: 'sale', input: of('ONE', true) })

    const after = await ended(system, task, { outcome: 'succeed' })

    expect(await limitedBy(system, task)).toEqual(['resize=ONE'])
    expect(await limitedBy(system, after)).toEqual(['resize=STEP'])
  })

  it('although it keeps only the counted fields of a large input in its head, so that claims read no input', async () => {
    const system = await aSystem({ rate: { limit: 100, perMs: 1_000, key: 'shop' } })
    const task = await published(system, { input: of('ONE', true), stage: 'one' })

    const moved = await ended(system, task, {
      outcome: 'succeed',
      next: { stage: 'two', input: of('TWO', true) },
    })
    const again = await restarted(system, await ended(system, moved, FAILED))

    expect([task, moved, again].map(({ limitValues }) => limitValues?.shop)).toEqual(['ONE', 'TWO', 'TWO'])
  })
})
