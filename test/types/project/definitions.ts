import { defineFlow, defineTask } from 'baton-tasks'
import { z } from 'zod'

export const resize = defineTask('resize', {
  input: z.object({ url: z.string(), width: z.number() }),
  timeoutMs: 60_000,
  run: async ({ width }) => ({ bytes: width, at: new Date(0), note: undefined as string | undefined }),
})

export const notify = defineTask('notify', { run: () => 'told' })

export const montage = defineTask('montage', {
  input: z.object({ title: z.string() }),
  previous: z.array(z.object({ bytes: z.number() })),
  run: (_input, ctx) => ctx.previous.map(({ bytes }) => bytes),
})

export const ship = defineTask('ship', {
  input: z.object({ ids: z.array(z.string()) }),
  run: () => ({ parcel: 'p' }),
})

export const bill = defineTask('bill', {
  params: z.object({ sku: z.string(), pack: z.object({ parcel: z.string() }) }),
  run: (_input, ctx) => ctx.params.pack.parcel.length,
})

export const page = defineTask('page', {
  input: z.object({ url: z.string() }),
  stages: {
    fetch: ({ url }, ctx) => ctx.next('store', { input: { url: `${url}?fetched` } }),
    store: async ({ url }) => ({ bytes: url.length }),
  },
})

export const order = defineFlow('order', {
  input: z.object({ sku: z.string(), cents: z.number() }),
  steps: [
    { name: 'pack', do: ship, input: { ids: ['a'] }, timeoutMs: 300_000 },
    { name: 'bill', do: bill, undo: { task: notify, retry: { maxRetries: 20 } } },
    { name: 'tell', do: 'mailer' },
    { name: 'size', do: { task: resize, input: { url: 'a', width: 1 } } },
  ],
})
