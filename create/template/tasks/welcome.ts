import { defineTask } from 'baton-tasks'
import { z } from 'zod'

/** Greets a customer. A failed run is repeated after 1 s, 2 s and 4 s. */
export const welcome = defineTask('welcome', {
  input: z.object({ name: z.string() }),
  retry: { maxRetries: 3, backoff: 'exponential', delayMs: 1_000 },
  timeoutMs: 10_000,
  async run({ name }, ctx) {
    ctx.log.info(`greets ${name}`)
    return { greeting: `Welcome, ${name}!` }
  },
})
