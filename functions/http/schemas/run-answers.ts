import * as z from 'zod'
import { gone, options, problemAnswer, task, whole } from './answers.ts'
import { optional, shownTime } from './scalars.ts'

/** What workers are told. */

export const claimsAnswer = z.object({
  claims: z.array(
    z.object({
      task,
      run: z.object({ id: z.string(), fence: whole, leaseUntil: shownTime, idempotencyKey: z.string() }),
    }),
  ),
  retryAfterMs: optional(whole),
})

export const heartbeatAnswer = z.object({ leaseUntil: shownTime, options })

const runResult = {
  taskId: z.string(),
  runId: z.string(),
  status: z.int(),
  reason: optional(gone),
  holder: optional(z.string()),
  problem: optional(problemAnswer),
}

export const heartbeatsAnswer = z.object({
  results: z.array(z.object({ ...runResult, leaseUntil: optional(shownTime), options: optional(options) })),
})

export const finishesAnswer = z.object({
  results: z.array(z.object({ ...runResult, task: optional(task) })),
})
