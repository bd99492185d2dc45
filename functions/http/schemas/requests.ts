import * as z from 'zod'
import {
  MAX_BATCH_TASKS,
  MAX_CALLBACKS,
  MAX_CLAIM_WAIT_MS,
  MAX_CLAIMS,
  MAX_CONCURRENCY,
  MAX_DELAY_MS,
  MAX_KEY_LENGTH,
  MAX_PERMITS,
  MAX_PRIORITY,
  MAX_RATE,
  MAX_RATE_PERIOD_MS,
  MAX_RETRIES,
  MAX_SHARDS,
  MAX_STEPS,
  MAX_TYPE_LENGTH,
  MIN_RATE_PERIOD_MS,
} from '../../../shared/core/limits.ts'
import { NO_USER_IN_WEBHOOK, namesUser } from '../../../shared/core/webhook-url.ts'
import { isTraceparent } from '../../../shared/runtime/traceparent.ts'
import {
  duration,
  json,
  key,
  name,
  optional,
  strict,
  tags,
  time,
  typeName,
  userId,
  version,
  whole,
  workerId,
} from './scalars.ts'
import { givenError, givenLog } from './task-error.ts'

const DAY_MS = 86_400_000
const MIN_BEAT_MS = 50
/** Calls run in the webhook handler's function, which has 5 minutes. */
const MAX_WEBHOOK_MS = 240_000

const retry = strict({
  maxRetries: optional(whole(0, MAX_RETRIES)),
  backoff: optional(z.enum(['exponential', 'fixed', 'fibonacci', 'ladder'])),
  delayMs: optional(duration()),
  maxDelayMs: optional(duration()),
  delaysMs: optional(z.array(duration()).min(1).max(100)),
  jitter: optional(z.number().min(0).max(1)),
  scope: optional(z.enum(['task', 'worker'])),
  localRetries: optional(whole(0, 100)),
})

const options = {
  concurrency: optional(whole(1, MAX_CONCURRENCY)),
  workerIds: optional(
    z
      .array(workerId)
      .max(MAX_CONCURRENCY)
      .refine(ids => new Set(ids).size === ids.length, 'must not name a worker twice'),
  ),
  minWorkerVersion: optional(version),
  heartbeatMs: optional(duration(MIN_BEAT_MS, DAY_MS)),
  leaseMs: optional(duration(2 * MIN_BEAT_MS, DAY_MS)),
  timeoutMs: optional(duration(1)),
  deadlineMs: optional(duration(1)),
  retentionMs: optional(duration()),
  retry: optional(retry),
}

const priority = whole(-MAX_PRIORITY, MAX_PRIORITY).meta({ description: 'Higher comes first' })
const clean = z.array(z.enum(['failed', 'succeeded'])).max(2)

const stage = name(MAX_TYPE_LENGTH).meta({ description: 'Name of a stage' })

const publishFields = {
  type: typeName,
  key: optional(key),
  input: optional(json),
  userId: optional(userId),
  tags: optional(tags),
  dueAt: optional(time),
  delayMs: optional(duration()),
  priority: optional(priority),
  ...options,
  traceparent: optional(z.string().refine(isTraceparent, 'must be a W3C traceparent')),
  stage: optional(stage),
  immutable: optional(z.boolean()),
  fairnessKey: optional(name(MAX_KEY_LENGTH).meta({ description: 'Tenants take turns' })),
}

/** What is published at a task's end, which may have callbacks itself. Published once, it has no use for `ifExists`. */
export type CallbackFields = z.infer<z.ZodObject<typeof publishFields>> & {
  onSuccess?: CallbackFields[]
  onError?: CallbackFields[]
}

const callbackBody: z.ZodType<CallbackFields> = z.lazy(() =>
  strict({ ...publishFields, onSuccess: optional(callbacks), onError: optional(callbacks) }).meta({
    id: 'Callback',
  }),
)

const callbacks = z.array(callbackBody).max(MAX_CALLBACKS)

export const publishBody = strict({
  ...publishFields,
  onSuccess: optional(callbacks),
  onError: optional(callbacks),
  ifExists: optional(z.enum(['keep', 'update', 'reject', 'restart'])),
  clean: optional(clean),
  debounce: optional(strict({ ms: duration(1), maxWaitMs: optional(duration(1)) })),
  throttle: optional(strict({ perMs: duration(1) })),
}).meta({ id: 'Publish' })

/** Members are checked one by one, so that a bad one harms no other. */
export const publishManyBody = strict({ tasks: z.array(z.unknown()).min(1).max(MAX_BATCH_TASKS) })

export const patchBody = strict({
  priority: optional(priority),
  dueAt: optional(time),
  delayMs: optional(duration()),
  input: optional(json),
  stage: optional(stage),
  tags: optional(tags),
  ...options,
}).meta({ id: 'Patch' })

/** Of operations that need to be told nothing. */
export const emptyBody = strict({})

export const retryBody = strict({
  action: optional(z.enum(['restart', 'retry-do', 'retry-undo', 'skip-undo', 'continue'])),
  clean: optional(clean),
})

const receiverUrl = z
  .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
  .max(2_048)
  .refine(url => !namesUser(url), NO_USER_IN_WEBHOOK)

const webhook = strict({
  url: optional(receiverUrl),
  timeoutMs: optional(duration(1, MAX_WEBHOOK_MS)),
  secretName: optional(name(512)),
  allowPrivate: optional(z.boolean()),
})

const stepAction = strict({
  type: typeName,
  input: optional(json),
  timeoutMs: optional(duration(1)),
  deadlineMs: optional(duration(1)),
  retry: optional(retry),
})

const step = strict({
  name: name(MAX_TYPE_LENGTH).refine(text => text !== '__proto__', 'must not be __proto__'),
  do: stepAction,
  undo: optional(stepAction),
})

const limitKey = name(MAX_TYPE_LENGTH).meta({ description: 'An input field, userId or fairnessKey' })

export const typeBody = strict({
  kind: z.enum(['handler', 'http', 'webhook', 'flow']),
  defaults: optional(strict({ priority: optional(priority), ...options })),
  ordering: optional(z.enum(['arrival', 'priority', 'aged'])),
  limits: optional(
    strict({
      rate: optional(
        strict({
          limit: whole(1, MAX_RATE),
          perMs: duration(MIN_RATE_PERIOD_MS, MAX_RATE_PERIOD_MS),
          key: optional(limitKey),
        }),
      ),
      concurrency: optional(strict({ max: whole(1, MAX_PERMITS), key: optional(limitKey) })),
    }),
  ),
  shards: optional(whole(1, MAX_SHARDS)),
  events: optional(z.boolean().meta({ description: 'Whether what happens to its tasks is told as events' })),
  webhook: optional(webhook),
  steps: optional(
    z
      .array(step)
      .min(1)
      .max(MAX_STEPS)
      .refine(
        steps => new Set(steps.map(one => one.name)).size === steps.length,
        'must not give two steps one name',
      )
      .refine(
        steps => !steps.some(({ name }) => steps.some(other => name === `undo ${other.name}`)),
        'must not name a step like the undo of another',
      ),
  ),
  onCancel: optional(z.enum(['undo', 'leave'])),
}).meta({ id: 'TypeConfiguration' })

export const claimsBody = strict({
  type: optional(typeName),
  types: optional(z.array(typeName).min(1).max(20)),
  workerId,
  limit: optional(whole(1, MAX_CLAIMS)),
  workerVersion: optional(version),
  requestId: optional(name(MAX_KEY_LENGTH)),
  waitMs: optional(whole(0, MAX_CLAIM_WAIT_MS)),
})

const fence = whole(1, Number.MAX_SAFE_INTEGER)
const beat = { fence, progress: optional(json) }
const next = strict({
  stage,
  input: optional(json),
  priority: optional(priority),
  delayMs: optional(duration()),
})
const succeed = { fence, result: optional(json), next: optional(next) }
const failure = {
  fence,
  error: givenError,
  fatal: optional(z.boolean()),
  retryInMs: optional(duration(0, MAX_DELAY_MS)),
  log: optional(givenLog),
}
const release = { fence, delayMs: optional(duration()) }

export const heartbeatBody = strict(beat)
export const succeedBody = strict(succeed)
export const failBody = strict(failure)
export const releaseBody = strict(release)

const runName = { taskId: z.string(), runId: z.string() }

export const heartbeatMember = strict({ ...runName, ...beat })
export const finishMembers = {
  succeed: strict({ ...runName, outcome: z.literal('succeed'), ...succeed }),
  fail: strict({ ...runName, outcome: z.literal('fail'), ...failure }),
  release: strict({ ...runName, outcome: z.literal('release'), ...release }),
}

/** Which of its three forms a member of a batch has, as its outcome says. */
export const outcomeOnly = z.object({ outcome: z.enum(['succeed', 'fail', 'release']) })

export const runsBody = strict({ runs: z.array(z.unknown()).min(1).max(MAX_BATCH_TASKS) })

const status = z.enum(['delayed', 'ready', 'running', 'compensating', 'succeeded', 'failed', 'cancelled'])

export const purgeBody = strict({ status: z.array(status).min(1), before: optional(time) }).meta({
  id: 'Purge',
})

const limit = whole(1, 100)
const cursor = z.string().max(2_048)

export const listQuery = strict({
  type: optional(typeName),
  canvasId: optional(name(MAX_KEY_LENGTH + 20)),
  userId: optional(userId),
  status: optional(z.array(status)),
  order: optional(z.enum(['due', '-due', 'created', '-created'])),
  limit: optional(limit),
  cursor: optional(cursor),
})

/** Of what was handed on to a task: the cursor is a position. */
export const previousQuery = strict({
  limit: optional(limit),
  cursor: optional(z.string().regex(/^\d{1,9}$/, 'must be a nextCursor of this list')),
})

/** Of a list that is read as a whole each time: types, workers. */
export const namePageQuery = strict({ limit: optional(limit), cursor: optional(cursor) })
