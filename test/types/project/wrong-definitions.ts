import { defineTask, Fatal, Release, RetryLater } from 'baton-tasks'
import { z } from 'zod'

const input = z.object({ url: z.string() })

// expect-error: 'timeoutMS' does not exist in type
defineTask('a', { timeoutMS: 3, run: async () => 1 })

// expect-error: Type 'string' is not assignable to type 'number'.
defineTask('a', { timeoutMs: '3', run: async () => 1 })

// expect-error: 'maxRetry' does not exist in type 'Partial<Retry>'.
defineTask('a', { retry: { maxRetry: 3 }, run: async () => 1 })

// expect-error: Type '"expo"' is not assignable to type
defineTask('a', { retry: { backoff: 'expo' }, run: async () => 1 })

// expect-error: Type '"first"' is not assignable to type '"
defineTask('a', { ordering: 'first', run: async () => 1 })

// expect-error: Type '"uri"' is not assignable to type
defineTask('a', { input, limits: { rate: { limit: 1, perMs: 1_000, key: 'uri' } }, run: () => 1 })

// expect-error: 'per' does not exist in type 'RateLimit<
defineTask('a', { limits: { rate: { limit: 1, per: 1_000 } }, run: () => 1 })

// expect-error: Property 'uri' does not exist on type '{ url: string; }'.
defineTask('a', { input, run: ({ uri }) => uri })

// expect-error: Argument of type '"tow"' is not assignable to parameter of type '"one" | "two"'.
defineTask('a', { stages: { one: (_input, ctx) => ctx.next('tow'), two: () => 1 } })

// expect-error: Type 'number' is not assignable to type 'string'.
defineTask('a', { input, stages: { one: (_input, ctx) => ctx.next('one', { input: { url: 1 } }) } })

// expect-error: is not assignable to parameter of type 'RunDefinition<
defineTask('a', { run: () => 1, stages: { one: () => 1 } })

// expect-error: Argument of type '{ input: z.ZodObject<{ url: z.ZodString; }, z.core.$strip>; }' is not assignable
defineTask('a', { input })

// expect-error: Property 'kind' does not exist
defineTask('a', { previous: z.object({ bytes: z.number() }), run: (_input, ctx) => ctx.previous.kind })

// expect-error: Property 'cents' does not exist
defineTask('a', { params: z.object({ sku: z.string() }), run: (_input, ctx) => ctx.params.cents })

// expect-error: Argument of type 'string' is not assignable to parameter of type 'number'.
new RetryLater('30 s')

// expect-error: Expected 1-3 arguments, but got 0.
new RetryLater()

// expect-error: Argument of type 'Date' is not assignable to parameter of type 'number'.
new Release(new Date())

// expect-error: Property 'delayMs' does not exist on type 'Fatal'.
new Fatal('no').delayMs
