import type { Canvas, Flow, Json, PartialOptions, TaskContext, TaskDefinition } from 'baton-tasks'
import {
  chain,
  chord,
  createClient,
  defineSchedule,
  defineTask,
  Fatal,
  group,
  Release,
  RetryLater,
} from 'baton-tasks'
import { montage, notify, order, page, resize } from './definitions.js'
import { type IsAny, type Same, verify } from './same.js'

const baton = createClient({ url: 'http://127.0.0.1:7070' })

export async function everyFormOfPublish() {
  const { id, created } = await baton.publish(resize, { url: 'a', width: 1 }, { key: 'k', delayMs: 5_000 })
  await baton.publish(notify)
  await baton.publish(order, { sku: 'a', cents: 1 })
  await baton.publish<typeof resize>('resize', { url: 'a', width: 1 }, { priority: 2 })
  await baton.publish('anything', { of: ['any', 'form'] }, { key: 'k' })
  await baton.publish(resize.with({ url: 'a', width: 1 }))
  await baton.publish({ type: 'resize', input: { url: 'a' }, onSuccess: [{ type: 'notify' }] })
  const canvas = await baton.publish(chord([resize.with({ url: 'a', width: 1 }), notify], notify), {
    sendConcurrency: 5,
  })
  await baton.publish(chain([notify, notify]))
  await baton.publishMany([notify.with(), { type: 'a', key: 'b' }])
  verify<Same<typeof id, string>>(true)
  verify<Same<typeof created, boolean>>(true)
  verify<IsAny<typeof canvas>>(false)
  return canvas.taskIds
}

export async function schedules() {
  const task = resize.with({ url: 'a', width: 1 }, { priority: 2 })
  const nightly = defineSchedule('nightly', { cron: '0 3 * * *', timezone: 'Europe/Berlin', task })
  defineSchedule('once', { at: '2030-01-01T00:00:00Z', missed: { catchUp: 1 }, task: notify.with() })
  defineSchedule('orders', { everyMs: 60_000, task: order.with({ sku: 'a', cents: 1 }) })
  await baton.putSchedule('nightly', { ...nightly.schedule, graceMs: 600_000 })
  const { managedBy } = await baton.putSchedule('hourly', { cron: '0 * * * *', task })
  verify<Same<typeof managedBy, string | undefined>>(true)
}

export async function resultsAsJsonGivesThemBack() {
  const resized = await baton.result(resize, 'resize:a')
  const named = await baton.result<typeof resize>('resize', 'resize:a')
  const staged = await baton.result(page, 'page:a')
  const sized = await baton.result(order, 'order:a')
  const unknown = await baton.result('other', 'other:a')
  const both = group([notify, resize.with({ url: 'a', width: 1 })])
  const [told, second] = await baton.canvasResult(both, 'canvas:a')
  const linked = await baton.canvasResult(chain(notify, both), 'canvas:b')

  verify<Same<typeof resized.at, string>>(true)
  verify<Same<typeof named.at, string>>(true)
  verify<Same<typeof staged, { bytes: number }>>(true)
  verify<Same<typeof sized.bytes, number>>(true)
  verify<Same<typeof unknown, unknown>>(true)
  verify<Same<typeof told, string>>(true)
  verify<Same<typeof second.at, string>>(true)
  verify<Same<(typeof linked)[0], string>>(true)
}

export const handlers = defineTask('handlers', {
  async run(_input, ctx) {
    const { id } = await ctx.publish(resize, { url: 'a', width: 1 }, { key: 'k' })
    await ctx.publish<typeof resize>('resize', { url: 'a', width: 1 })
    await ctx.publish({ type: 'resize', key: 'k' })
    await ctx.publish(notify)
    verify<Same<typeof id, string>>(true)
    verify<IsAny<typeof ctx.previous>>(false)
    verify<IsAny<typeof ctx.params>>(false)
    ctx.progress({ done: 1 })
    ctx.log.info('done', { id })
    if (id === 'busy') return new Release(1_000)
    if (id === 'bad') throw new Fatal('no', { cause: new Error('why') })
    throw new RetryLater(1_000, 'later', { cause: new Error('why') })
  },
})

verify<IsAny<Canvas>>(false)
verify<IsAny<Json>>(false)
verify<IsAny<TaskContext['publish']>>(false)
verify<IsAny<Awaited<ReturnType<typeof baton.get>>['options']['retry']>>(false)
verify<IsAny<Parameters<typeof baton.putType>[1]>>(false)
verify<IsAny<Parameters<typeof baton.claim>[0]['workerId']>>(false)

/** Definitions can stand where any definition does. */
export const definitions: ReadonlyArray<TaskDefinition | Flow> = [resize, notify, montage, page, order]
export const options: PartialOptions = { retry: { maxRetries: 5, backoff: 'ladder', delaysMs: [1_000] } }
