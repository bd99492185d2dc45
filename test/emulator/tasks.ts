import * as z from 'zod'
import { defineTask } from '../../shared/define/define-task.ts'

export const double = defineTask('double', {
  input: z.object({ number: z.number() }),
  run: ({ number }) => ({ doubled: 2 * number }),
})
