import { beforeEach, describe, expect, it } from 'vitest'
import { sweep } from '../../../shared/runtime/sweep/sweep.ts'
import {
  putType,
  registerFlowType,
  registerHandlerType,
  removeHandler,
} from '../../../shared/runtime/types/types.ts'
import { MINUTE } from '../../support/tasks/a-task.ts'
import { aFlowTask, failedFor } from '../../support/tasks/flow-life.ts'
import { aMemorySystem, type MemorySystem } from '../../support/worlds/memory-system.ts'

let system: MemorySystem
beforeEach(() => {
  system = aMemorySystem()
})

const HANDLER = { kind: 'handler', defaults: {} } as const

describe('a deployed handler', () => {
  it('makes its type known, with the deployed configuration', async () => {
    await registerHandlerType(system, 'resize', { ...HANDLER, defaults: { priority: 3 } })

    expect(await system.types.get('resize')).toMatchObject({
      configuration: { kind: 'handler', defaults: { priority: 3 } },
      handlerSince: system.clock.now(),
      paused: false,
      version: 1,
    })
  })

  it.each([
    ['the four that are the default', undefined, 4],
    ['those that were set', 8, 8],
  ])('never removes shards: %s', async (_name, stored, kept) => {
    await putType(system, 'resize', { ...HANDLER, ...(stored && { shards: stored }) })

    await registerHandlerType(system, 'resize', { ...HANDLER, shards: 2 })

    expect((await system.types.get('resize'))?.configuration.shards).toBe(kept)
  })

  it('records that workers serve its type, until a Lambda function serves it', async () => {
    await registerHandlerType(system, 'resize', HANDLER, { servedBy: 'workers' })
    await putType(system, 'resize', { ...HANDLER, defaults: { priority: 1 } })
    const byWorkers = await system.types.get('resize')
    await registerHandlerType(system, 'resize', HANDLER)

    expect(byWorkers).toMatchObject({ servedBy: 'workers', handlerSince: system.clock.now() })
    expect(await system.types.get('resize')).not.toHaveProperty('servedBy')
  })

  it('leaves its type known but unserved when it is removed', async () => {
    await registerHandlerType(system, 'resize', HANDLER)

    await removeHandler(system, 'resize')

    const type = await system.types.get('resize')
    expect(type).toMatchObject({ configuration: HANDLER, version: 2 })
    expect(type).not.toHaveProperty('handlerSince')
  })

  it('that was never registered creates no type when it is removed', async () => {
    await removeHandler(system, 'resize')

    expect(await system.types.list()).toEqual([])
  })
})

describe('a deployed flow', () => {
  const FLOW = { kind: 'flow', defaults: {}, steps: [{ name: 'a', do: { type: 'resize' } }] } as const

  it('makes its type known, without a handler', async () => {
    await registerHandlerType(system, 'order', HANDLER, { servedBy: 'workers' })

    await registerFlowType(system, 'order', FLOW)

    const type = await system.types.get('order')
    expect(type).toMatchObject({ configuration: FLOW })
    expect(type).not.toHaveProperty('handlerSince')
    expect(type?.servedBy).toBe('steps')
  })

  it('keeps its kind against a put, until it is removed from the deployment', async () => {
    await registerHandlerType(system, 'resize', HANDLER)
    await registerFlowType(system, 'order', FLOW)
    const http = { kind: 'http', defaults: {} } as const

    const refused = await putType(system, 'order', http)
    await removeHandler(system, 'order', 'flow')
    const accepted = await putType(system, 'order', http)

    expect([refused, accepted]).toMatchObject([
      { ok: false, reason: 'deployed-kind', kind: 'flow' },
      { ok: true },
    ])
  })

  it('does not take the handler with it that replaces it', async () => {
    await registerFlowType(system, 'order', FLOW)
    await registerHandlerType(system, 'order', HANDLER)

    await removeHandler(system, 'order', 'flow')

    expect((await system.types.get('order'))?.handlerSince).toBeDefined()
  })

  it('is still swept where it undoes its steps, once its type has become another', async () => {
    await registerFlowType(system, 'order', { ...FLOW, shards: 1 })
    const flow = failedFor(aFlowTask(), 'no')
    await system.tasks.apply({ before: undefined, after: flow, guard: { kind: 'absent' }, bodies: [] })
    await registerHandlerType(system, 'order', HANDLER)
    system.messages.backlogs.set('una', 0)
    await system.clock.advance(MINUTE)

    await sweep(system)

    expect(system.messages.dispatches.map(({ task }) => task.id)).toEqual([flow.id])
  })

  it('stays when the handler that the type had before is removed', async () => {
    await registerHandlerType(system, 'order', HANDLER)
    await registerFlowType(system, 'order', FLOW)

    await removeHandler(system, 'order')

    expect(await system.types.get('order')).toMatchObject({ configuration: FLOW, servedBy: 'steps' })
  })
})

describe('a configuration that is put', () => {
  it('leaves the handler and the shards as they are', async () => {
    await registerHandlerType(system, 'resize', { ...HANDLER, shards: 8 })

    const outcome = await putType(system, 'resize', HANDLER)

    expect(outcome).toMatchObject({
      ok: true,
      created: false,
      type: { configuration: { shards: 8 }, handlerSince: system.clock.now() },
    })
  })

  it('is refused when it asks for fewer shards', async () => {
    await putType(system, 'resize', HANDLER)

    expect(await putType(system, 'resize', { ...HANDLER, shards: 3 })).toEqual({
      ok: false,
      reason: 'fewer-shards',
      shards: 4,
    })
  })
})
