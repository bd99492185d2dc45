import { expect, it } from 'vitest'
import type { TaskType } from '../../shared/core/types/task-type.ts'
import { aType as aPlainType, NOW } from '../support/tasks/a-task.ts'
import type { MakeStores } from './task-store.ts'

const CONFIGURATION = {
  kind: 'http',
  defaults: { priority: 3, retry: { maxRetries: 1 } },
  shards: 8,
} as const
const aType = (parts: Partial<TaskType> = {}) => aPlainType({ configuration: CONFIGURATION, ...parts })

export function typesContract(makeStores: MakeStores): void {
  it('keeps a type whole', async () => {
    const { types } = await makeStores()

    expect(await types.get('resize')).toBeUndefined()
    expect(await types.put(aType(), 0)).toBe(true)
    expect(await types.get('resize')).toEqual(aType())
  })

  it('stores a change only over the version that it was decided on', async () => {
    const { types } = await makeStores()
    await types.put(aType(), 0)

    const again = await types.put(aType({ paused: true }), 0)
    const next = await types.put(aType({ version: 2, handlerSince: NOW }), 1)
    const stale = await types.put(aType({ version: 2, paused: true }), 1)
    const unknown = await types.put(aType({ type: 'other', version: 2 }), 1)

    expect([again, next, stale, unknown]).toEqual([false, true, false, false])
    expect(await types.get('resize')).toEqual(aType({ version: 2, handlerSince: NOW }))
  })

  it('records that a type has tenants next to its configuration, over the version that was read', async () => {
    const { types } = await makeStores()
    await types.put(aType({ version: 4 }), 0)
    const fair = aType({ version: 5, isFair: true, unapplied: ['reorder'] })

    const stale = await types.markFair(fair, 3)
    const marked = await types.markFair(fair, 4)
    const unknown = await types.markFair(aType({ type: 'other', version: 2 }), 1)

    expect([stale, marked, unknown]).toEqual([false, true, false])
    expect(await types.get('resize')).toEqual(fair)
    expect(await types.put(aType({ version: 6, isFair: true }), 5)).toBe(true)
    expect(await types.get('resize')).toEqual(aType({ version: 6, isFair: true }))
  })

  it('lists all types by name, also when they do not fit one page', async () => {
    const { types } = await makeStores()
    const names = Array.from({ length: 30 }, (_, index) => `type-${String(index).padStart(2, '0')}`)
    const url = `https://example.com/${'x'.repeat(50_000)}`
    const configuration = { kind: 'webhook', defaults: {}, webhook: { url } } as const
    await Promise.all(names.map(type => types.put(aType({ type, configuration }), 0)))

    expect((await types.list()).map(({ type }) => type)).toEqual(names)
  })
}
