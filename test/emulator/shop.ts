import * as z from 'zod'
import { defineTask } from '../../shared/define/define-task.ts'
import { defineFlow } from '../../shared/define/flow/define-flow.ts'
import { Fatal } from '../../shared/signals.ts'

const reserve = defineTask('reserve', { run: () => ({ reserved: true }) })
const free = defineTask('free', { run: () => ({ freed: true }) })
const charge = defineTask('charge', {
  input: z.object({ cents: z.number() }),
  run: ({ cents }) => {
    if (cents > 1_000) throw new Fatal('too much')
    return { charged: cents }
  },
})
const sum = defineTask('sum', { run: (_input, { previous }) => ({ results: previous }) })

export { charge, free, reserve, sum }

export const order = defineFlow('order', {
  steps: [
    { name: 'reserve', do: reserve, undo: free },
    { name: 'charge', do: charge },
  ],
})
