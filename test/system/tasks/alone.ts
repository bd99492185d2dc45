import { z } from 'zod'
import { defineTask } from '../../../shared/define/define-task.ts'

/** Publishes a task of the type that its input names. */
export const alone = defineTask('alone', {
  input: z.object({ publishes: z.string().optional() }),
  retry: { maxRetries: 0 },
  async run({ publishes }, ctx) {
    if (publishes) await ctx.publish({ type: publishes, key: 'by-alone', input: {} })
    return null
  },
})
