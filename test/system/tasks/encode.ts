import { z } from 'zod'
import { defineTask } from '../../../shared/define/define-task.ts'

/** One worker service serves this type and `trim`. */
export const encode = defineTask('encode', {
  input: z.object({ sleepMs: z.int().default(0) }),
  retry: { maxRetries: 0 },
  async run({ sleepMs }, { fence }) {
    await new Promise(resolve => setTimeout(resolve, sleepMs))
    return { pid: process.pid, fence }
  },
})

export const trim = defineTask('trim', {
  input: z.object({ text: z.string() }),
  run: ({ text }) => ({ pid: process.pid, text: text.trim() }),
})
