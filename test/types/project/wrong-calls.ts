import { createClient, defineSchedule, defineTask } from 'baton-tasks'
// A caller can import only the type of a definition, and then bundles no handler.
import { notify, type order as Order, order, type resize as Resize, resize } from './definitions.js'

const baton = createClient({ url: 'http://127.0.0.1:7070' })

// expect-error: Type 'number' is not assignable to type 'string'.
await baton.publish(resize, { url: 1, width: 1 })

// expect-error: type '{ url: string; width: number; }'.
await baton.publish(resize, { url: 'a' })

// expect-error: 'height' does not exist in type '{ url: string; width: number; }'.
await baton.publish(resize, { url: 'a', width: 1, height: 1 })

// expect-error: Expected 2-4 arguments, but got 1.
await baton.publish(resize)

// expect-error: Type 'string' is not assignable to type 'number'.
await baton.publish(order, { sku: 'a', cents: '1' })

// expect-error: 'delay' does not exist in type 'PublishOptions'. Did you mean to write 'delayMs'?
await baton.publish(resize, { url: 'a', width: 1 }, { delay: 3 })

// expect-error: Argument of type '"misspelt"' is not assignable to parameter of type '"resize"
await baton.publish<typeof Resize>('misspelt', { url: 'a', width: 1 })

// expect-error: Type 'number' is not assignable to type 'string'.
await baton.publish<typeof Resize>('resize', { url: 1, width: 1 })

// expect-error: 'nonsense' does not exist in type 'PublishBody | AnyDefinition | Canvas'.
await baton.publish({ nonsense: true })

// expect-error: 'delay' does not exist in type 'PublishBody | AnyDefinition | Canvas'.
await baton.publish({ type: 'jobs', delay: 3 })

// expect-error: Object literal may only specify known properties, and 'key' does not exist in type 'CallOptions'.
await baton.publish({ type: 'jobs' }, { key: 'k' })

// expect-error: Property 'getTime' does not exist on type 'string'.
;(await baton.result(resize, 'resize:a')).at.getTime()

// expect-error: Property 'size' does not exist on type
;(await baton.result(resize, 'resize:a')).size

// expect-error: Argument of type '"misspelt"' is not assignable to parameter of type '"order"
await baton.result<typeof Order>('misspelt', 'order:a')

// expect-error: 'timeout' does not exist in type 'ResultOptions'.
await baton.result(resize, 'resize:a', { timeout: 1_000 })

// expect-error: 'address' does not exist in type 'ClientSettings'.
createClient({ url: 'a', address: 'b' })

// expect-error: 'state' does not exist in type
baton.list({ type: 'resize', state: 'failed' })

defineTask('parent', {
  async run(_input, ctx) {
    // expect-error: Type 'number' is not assignable to type 'string'.
    await ctx.publish(resize, { url: 1, width: 1 })

    // expect-error: 'delay' does not exist in type 'ChildOptions'. Did you mean to write 'delayMs'?
    await ctx.publish(resize, { url: 'a', width: 1 }, { delay: 1 })

    // expect-error: Argument of type '"misspelt"' is not assignable to parameter of type '"resize"
    await ctx.publish<typeof Resize>('misspelt', { url: 'a', width: 1 })

    // expect-error: 'ifExists' does not exist in type 'ChildOptions'.
    await ctx.publish(notify, undefined, { ifExists: 'keep' })

    // expect-error: 'nonsense' does not exist in type
    await ctx.publish({ nonsense: true })

    // expect-error: Property 'fecth' does not exist on type 'TaskContext
    ctx.fecth()
  },
})

// expect-error: Type 'string' is not assignable to type 'number'.
defineSchedule('nightly', { cron: '0 3 * * *', task: resize.with({ url: 'a', width: '1' }) })

// expect-error: Type 'string' is not assignable to type 'number'.
await baton.putSchedule('nightly', { cron: '0 3 * * *', task: order.with({ sku: 'a', cents: '1' }) })

// expect-error: 'every' does not exist in type
defineSchedule('nightly', { every: 1_000, task: notify.with() })

// expect-error: '{ cron: string; }'
defineSchedule('nightly', { cron: '0 3 * * *' })
