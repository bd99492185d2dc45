import { beforeEach, describe, expect, it } from 'vitest'
import type { CallbackBodies } from '../../../shared/core/publish.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import { claimTask } from '../../../shared/runtime/claim/claim.ts'
import { readTask } from '../../../shared/runtime/kernel/heads.ts'
import { publish } from '../../../shared/runtime/publish/publish.ts'
import type { PublishRequest } from '../../../shared/runtime/publish/resolve-publication.ts'
import { planChanges } from '../../../shared/runtime/stream/stream.ts'
import { sweep } from '../../../shared/runtime/sweep/sweep.ts'
import { bindType, putType, registerHandlerType, removeHandler } from '../../../shared/runtime/types/types.ts'
import { aFlow, MINUTE } from '../../support/tasks/a-task.ts'
import { aCallbackWorld, type CallbackWorld, MAIL } from '../../support/worlds/a-callback-world.ts'
import { registered, servedJobs, stored, timed } from '../../support/worlds/memory-system.ts'

/** A program that may write heads of `work` only may write any head of it. Deployment has bound `work` to itself and `log`. */
let world: CallbackWorld
beforeEach(async () => {
  world = await aCallbackWorld()
  await registered(world.system, { type: 'log' })
  await bindType(world.system, 'work', ['log'])
})

const ADVICE =
  "must not be 'mail': a program may write tasks of 'work' and none of 'mail'; add 'mail' to the otherTypes of the handlers, or the types of the grants, that reach 'work'. Legal now: 'work', 'log'"

/** A head as a hostile program writes it, which no publish has checked. */
const forged = (parts: Parameters<typeof stored>[1]) => stored(world.system, { type: 'work', ...parts })
const planned = (task: Task) => planChanges(world.system, [{ task, position: 'p' }])
const forgedCallbacks = (onSuccess: readonly PublishRequest[]) =>
  ({ onSuccess, onError: [] }) as unknown as CallbackBodies
const aStep = (type: string, kind: 'handler' | 'webhook' = 'handler') =>
  aFlow({ steps: [{ name: 'only', do: { type, kind } }] })
const claimedBy = (task: Task) => claimTask(world.system, task, { workerId: 'w1' })

describe('a publish', () => {
  it('with a callback of a type that deployment does not allow is refused with the field and the grant', async () => {
    const nested = { type: 'log', onError: [{ type: 'work', onSuccess: [MAIL] }] }

    const outcome = await publish(world.system, {
      type: 'work',
      onSuccess: [{ type: 'log' }, MAIL],
      onError: [nested],
    })

    expect(outcome).toEqual({
      ok: false,
      reason: 'invalid',
      problems: [
        { path: 'onSuccess.1.type', message: ADVICE },
        { path: 'onError.0.onError.0.onSuccess.0.type', message: ADVICE },
      ],
    })
  })

  it('of a type that is not bound may have callbacks of any type', async () => {
    const outcome = await publish(world.system, {
      type: 'mail',
      onSuccess: [{ type: 'work' }, { type: 'log' }],
    })

    expect(outcome.ok).toBe(true)
  })
})

describe('the planner', () => {
  it('publishes the allowed callbacks of a forged head only, and the task says why it owes the others', async () => {
    const callbacks = forgedCallbacks([
      MAIL,
      { type: 'work', key: 'own' },
      { type: 'log' },
      { ...MAIL, key: 'own' },
    ])
    const over = await world.ended(await forged({ callbacks }))

    await world.planned(over)

    expect(await world.waiting()).toEqual([])
    expect(await world.waiting('work')).toMatchObject([{ id: over.id }, { key: 'own' }])
    expect(await world.waiting('log')).toHaveLength(1)
    expect((await world.head(over.id)).unpublished).toMatchObject({
      indices: [0, 3],
      problems: [0, 3].map(index => ({ path: `onSuccess.${index}.type`, message: ADVICE })),
    })
  })

  it('refuses an allowed callback whose own callback its type may not have', async () => {
    await bindType(world.system, 'log', ['work'])
    const over = await world.ended(
      await forged({ callbacks: forgedCallbacks([{ type: 'log', onSuccess: [MAIL] }]) }),
    )

    await world.planned(over)

    expect(await world.waiting('log')).toEqual([])
    expect((await world.head(over.id)).unpublished?.problems).toMatchObject([
      { path: 'onSuccess.0.onSuccess.0.type' },
    ])
  })

  it('publishes the owed callback after a deployment allows it', async () => {
    const over = await world.ended(await forged({ callbacks: forgedCallbacks([MAIL]) }))
    await world.planned(over)
    await bindType(world.system, 'work', ['log', 'mail'])
    await world.system.clock.advance(MINUTE)

    await sweep(world.system)

    expect(await world.waiting()).toHaveLength(1)
    expect((await world.head(over.id)).owes).toBeUndefined()
  })
})

describe('a forged flow', () => {
  it.each([
    ['a step of another type', { kind: 'flow' as const, flow: aStep('mail') }],
    ['a step of an allowed type as a webhook', { kind: 'flow' as const, flow: aStep('log', 'webhook') }],
    ['the kind of webhooks', { kind: 'webhook' as const }],
  ])('with %s is neither dispatched nor claimed', async (_what, parts) => {
    const task = await forged(parts)

    await planned(task)

    expect(world.system.messages.dispatches).toEqual([])
    expect(await claimedBy(task)).toMatchObject({ refused: 'type-not-allowed' })
    expect(await readTask(world.system, task.id)).toMatchObject({ live: {}, fence: task.fence })
  })

  it('runs its steps of allowed types', async () => {
    const task = await forged({ kind: 'flow', flow: aStep('log') })

    await planned(task)

    expect(world.system.messages.dispatches).toHaveLength(1)
    expect(await claimedBy(task)).toHaveProperty('run')
  })
})

describe('a bound flow', () => {
  const steps = (...types: string[]) => types.map(type => ({ name: type, do: { type } }))
  const flowOf = (...types: string[]) =>
    ({ kind: 'flow', defaults: {}, shards: 1, steps: steps(...types) }) as const
  const dispatchedTypes = () =>
    world.system.messages.dispatches.splice(0).map(({ task }) => task.flow?.definition.steps[0]?.do.type)

  it('does the steps that its configuration names, or has named, and no others', async () => {
    await putType(world.system, 'buy', flowOf('mail'))
    await bindType(world.system, 'buy', [])
    const begun = await publish(world.system, { type: 'buy', key: 'begun' })
    await putType(world.system, 'buy', flowOf('log'))
    const fresh = await publish(world.system, { type: 'buy', key: 'fresh' })
    const other = await stored(world.system, {
      type: 'buy',
      key: 'other',
      kind: 'flow',
      flow: aStep('work'),
    })
    await world.system.clock.advance(2_000)

    for (const outcome of [begun, fresh]) if (outcome.ok) await planned(outcome.task)
    await planned(other)

    expect(dispatchedTypes()).toEqual(['mail', 'log'])
  })

  it('is dispatched once a deployment allows its step', async () => {
    const task = await forged({ kind: 'flow', flow: aStep('mail') })
    await planned(task)
    await bindType(world.system, 'work', ['mail'])

    await timed(world.system, servedJobs(world.system))

    expect(dispatchedTypes()).toEqual(['mail'])
  })
})

describe('only deployment', () => {
  const typeNow = () => world.system.types.get('work')

  it('binds a type: other changes of the type keep its bound, and the end of the bound frees it', async () => {
    const configuration = { kind: 'handler', defaults: { priority: 1 } } as const
    await putType(world.system, 'work', configuration)
    await registerHandlerType(world.system, 'work', configuration)
    await removeHandler(world.system, 'work')
    expect(await typeNow()).toMatchObject({ configuration, otherTypes: ['log'] })

    await bindType(world.system, 'work')

    expect(await typeNow()).not.toHaveProperty('otherTypes')
  })

  it('binds a type that is registered later', async () => {
    await bindType(world.system, 'later', [])
    await putType(world.system, 'later', { kind: 'webhook', defaults: {} })

    expect(await world.system.types.get('later')).toMatchObject({
      configuration: { kind: 'webhook' },
      otherTypes: [],
    })
  })

  it('writes a type again only if its bound changes', async () => {
    const before = await typeNow()
    await bindType(world.system, 'work', ['log'])
    await bindType(world.system, 'never-there')

    expect(await typeNow()).toEqual(before)
    expect(await world.system.types.get('never-there')).toBeUndefined()
  })
})
