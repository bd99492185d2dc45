import { defineFlow } from 'baton-tasks'
import { z } from 'zod'
import { charge } from '../tasks/order-payment.js'
import { freeStock, reserveStock } from '../tasks/order-stock.js'

/** When the charge fails for good, the reservation is undone. */
export const order = defineFlow('order', {
  input: z.object({ sku: z.string(), cents: z.number().int().positive() }),
  steps: [
    { name: 'reserve', do: reserveStock, undo: freeStock },
    { name: 'charge', do: charge },
  ],
})
