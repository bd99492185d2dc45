import { defineTask } from 'baton-tasks'
import { z } from 'zod'

const input = z.object({ sku: z.string(), cents: z.number().int().positive() })

/** Puts one piece aside. `idempotencyKey` is the same in every run of this step, so a repeated run reserves nothing twice. */
export const reserveStock = defineTask('reserve-stock', {
  input,
  async run({ sku }, ctx) {
    ctx.log.info(`reserves ${sku}`)
    return { reservation: ctx.idempotencyKey }
  },
})

/** Gives the piece back when a later step has failed for good. */
export const freeStock = defineTask('free-stock', {
  input,
  async run({ sku }, ctx) {
    ctx.log.info(`frees ${sku}`)
  },
})
