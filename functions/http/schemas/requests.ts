import * as z from 'zod'
import {
  MAX_BATCH_TASKS,
  MAX_CALLBACKS,
  MAX_CLAIM_WAIT_MS,
  MAX_CLAIMS,
  MAX_DELAY_MS,
  MAX_KEY_LENGTH,
  MAX_TYPE_LENGTH,
} from '../../../shared/core/bounds.ts'
import { optionRules, patchedOptionRules, priorityRule } from '../../../shared/core/rules/options.ts'
import { text } from '../../../shared/core/rules/scalars.ts'
import { typeRule } from '../../../shared/core/rules/type-configuration.ts'
import { isTraceparent } from '../../../shared/runtime/kernel/traceparent.ts'
import { fromRule, optionalFields } from './from-rule.ts'
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

const options = optionalFields(optionRules)

const priority = fromRule(priorityRule)
const clean = z.array(z.enum(['failed', 'succeeded'])).max(2)

const stage = name(MAX_TYPE_LENGTH)

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
  traceparent: optional(fromRule(text('a W3C traceparent', isTraceparent))),
  stage: optional(stage),
  immutable: optional(z.boolean()),
  fairnessKey: optional(name(MAX_KEY_LENGTH)),
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

/** Null takes an option back to the default of the task's type, and tags away. */
export const patchBody = strict({
  dueAt: optional(time),
  delayMs: optional(duration()),
  input: optional(json),
  stage: optional(stage),
  tags: optional(z.nullable(tags)),
  ...optionalFields(patchedOptionRules),
}).meta({ id: 'Patch' })

/** Of operations that need to be told nothing. */
export const emptyBody = strict({})

export const retryBody = strict({
  action: optional(z.enum(['restart', 'retry-do', 'retry-undo', 'skip-undo', 'continue', 'retry-callbacks'])),
  clean: optional(clean),
})

export const typeBody = fromRule(typeRule).meta({ id: 'TypeConfiguration', ...typeRule.schema })

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
  order: optional(z.enum(['due', '-due', 'created', '-created', 'ended', '-ended'])),
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
