import { defineTask, Fatal } from 'baton-tasks'
import { z } from 'zod'

const LIMIT_CENTS = 100_000

/** Charges the card. `Fatal` fails the step without a retry; any other error is retried first. */
export const charge = defineTask('charge', {
  input: z.object({ sku: z.string(), cents: z.number().int().positive() }),
  async run({ cents }) {
    if (cents > LIMIT_CENTS) throw new Fatal(`the card does not pay more than ${LIMIT_CENTS} cents`)
    return { paidCents: cents }
  },
})
