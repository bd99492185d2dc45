import { createClient, defineTask, type Json } from 'baton-tasks'
import { z } from 'zod'
import { montage, resize } from './definitions.js'
import { type Same, verify } from './same.js'

// What only a strict compiler can tell apart: undefined from everything else.

const baton = createClient({ url: 'http://127.0.0.1:7070' })

const odd = defineTask('odd', {
  run: () => ({
    at: new Date(0),
    maybe: undefined as number | undefined,
    list: [new Date(0), null] as const,
    deep: { url: new URL('http://a'), tags: ['a'] },
    many: 1n,
    names: new Map<string, string>(),
    call: () => 1,
    any: 1 as unknown,
  }),
})
const nothing = defineTask('nothing', { run: async () => {} })
const given = defineTask('given', { run: (): Json => null })

export async function results() {
  const { at, maybe, list, deep, many, names, call, any } = await baton.result(odd, 'odd:a')
  const none = await baton.result(nothing, 'nothing:a')
  const json = await baton.result(given, 'given:a')
  const resized = await baton.result(resize, 'resize:a')

  verify<Same<typeof at, string>>(true)
  verify<Same<typeof maybe, number | undefined>>(true)
  verify<Same<typeof list, readonly [string, null]>>(true)
  verify<Same<typeof deep, { url: string; tags: string[] }>>(true)
  verify<Same<typeof many, never>>(true)
  verify<Same<typeof names, never>>(true)
  verify<Same<typeof call, never>>(true)
  verify<Same<typeof any, unknown>>(true)
  verify<Same<typeof none, undefined>>(true)
  verify<Same<typeof json, Json>>(true)
  verify<Same<typeof resized, { bytes: number; at: string; note?: string }>>(true)
}

export const alone = defineTask('alone', {
  previous: z.string().optional(),
  params: z.object({ sku: z.string() }).transform(({ sku }) => sku.length),
  run(_input, ctx) {
    verify<Same<typeof ctx.previous, string | undefined>>(true)
    verify<Same<typeof ctx.params, number>>(true)
  },
})

export const untyped = defineTask('untyped', {
  run(input, ctx) {
    verify<Same<typeof input, unknown>>(true)
    verify<Same<typeof ctx.previous, Json | undefined>>(true)
    verify<Same<typeof ctx.params, Readonly<Record<string, Json>> | undefined>>(true)
  },
})

export const staged = defineTask('staged', {
  input: z.object({ url: z.string() }),
  previous: z.number(),
  stages: {
    first: (_input, ctx) => {
      verify<Same<typeof ctx.previous, number>>(true)
      return ctx.next('second')
    },
    second: () => 'done',
  },
})

export async function typedByStages() {
  const done = await baton.result(staged, 'staged:a')
  verify<Same<typeof done, string>>(true)
  return montage.with({ title: 'a' }).type
}
