import type { TypeConfiguration } from './task-type.ts'

const [SECOND_MS, MINUTE_MS, HOUR_MS] = [1_000, 60_000, 3_600_000]

/** The shipped type that calls the URL in its input. Its handler serves all types of kind `webhook`. */
export const WEBHOOK_TYPE = 'webhook'

/** The configuration of the shipped type: retries over half a day, since a receiver may be down for hours. */
export const WEBHOOK_CONFIGURATION = {
  kind: 'webhook',
  defaults: {
    retry: {
      maxRetries: 8,
      backoff: 'ladder',
      delaysMs: [
        15 * SECOND_MS,
        30 * SECOND_MS,
        60 * SECOND_MS,
        15 * MINUTE_MS,
        30 * MINUTE_MS,
        60 * MINUTE_MS,
        4 * HOUR_MS,
        8 * HOUR_MS,
      ],
    },
  },
} as const satisfies TypeConfiguration
