import {
  CONCURRENCY_MAX,
  DELAY_MS_MAX,
  KEY_CHARACTERS_MAX,
  PRIORITY_MAX,
  RETRIES_MAX,
  WORKER_ID_BYTES_MAX,
} from '../bounds.ts'
import type { Options } from '../options.ts'
import { BACKOFFS } from '../states.ts'
import { isName } from '../values/text.ts'
import { eachMember } from '../values/values.ts'
import { isShortWorkerId } from '../worker.ts'
import { listOf, optionals, orNull, strict } from './compound.ts'
import type { Rule, ValueOf } from './rules.ts'
import { described, duration, flag, fraction, oneOf, text, whole } from './scalars.ts'

const DAY_MS = 86_400_000
const HEARTBEAT_MS_MIN = 50
const LADDER_DELAYS_MAX = 100
const LOCAL_RETRIES_MAX = 100

export const versionRule = text(
  'dotted numbers such as 1.4.0',
  value => /^\d{1,9}(\.\d{1,9}){0,3}$/.test(value),
  { pattern: '^\\d{1,9}(\\.\\d{1,9}){0,3}$', description: 'Dotted numbers' },
)

export const workerIdRule = text(
  `text of 1–${KEY_CHARACTERS_MAX} characters, none of them a control character or half a surrogate pair, of at most ${WORKER_ID_BYTES_MAX} bytes in UTF-8`,
  value => isName(value, KEY_CHARACTERS_MAX) && isShortWorkerId(value),
  { minLength: 1, maxLength: KEY_CHARACTERS_MAX },
)

export const priorityRule = described(whole(-PRIORITY_MAX, PRIORITY_MAX), 'Higher comes first')

const workerIds = listOf(workerIdRule, {
  max: CONCURRENCY_MAX,
  together: (ids: readonly string[], path) => {
    const duplicate = ids.find((id, index) => ids.indexOf(id) < index)
    return duplicate === undefined
      ? []
      : [{ path, message: `must name each worker once; it names '${duplicate}' twice` }]
  },
})

const retryFields = {
  maxRetries: whole(0, RETRIES_MAX),
  backoff: oneOf(...BACKOFFS),
  delayMs: duration(),
  maxDelayMs: duration(),
  delaysMs: listOf(duration(), { min: 1, max: LADDER_DELAYS_MAX }),
  jitter: fraction(),
  scope: oneOf('task', 'worker'),
  localRetries: whole(0, LOCAL_RETRIES_MAX),
}

export const retryRule = strict(optionals(retryFields))

/** The options that can be set per task, or as defaults of its type. */
export const optionRules = {
  concurrency: whole(1, CONCURRENCY_MAX),
  workerIds,
  minWorkerVersion: versionRule,
  heartbeatMs: duration(HEARTBEAT_MS_MIN, DAY_MS),
  leaseMs: duration(2 * HEARTBEAT_MS_MIN, DAY_MS),
  timeoutMs: duration(1),
  deadlineMs: duration(1),
  retentionMs: duration(0, DELAY_MS_MAX),
  liveLog: flag(),
  retry: retryRule,
} satisfies Record<keyof Options, Rule>

type Clearable<Rules> = {
  readonly [Name in keyof Rules]: Rule<ValueOf<Rules[Name]> | null>
}

function clearable<Rules extends Readonly<Record<string, Rule>>>(rules: Rules): Clearable<Rules> {
  return eachMember(rules, orNull) as unknown as Clearable<Rules>
}

/** The options of a patch. Null returns an option to the default of its type. */
export const patchedOptionRules = {
  ...clearable(optionRules),
  retry: orNull(strict(optionals(clearable(retryFields)))),
  /** Higher comes first. @default the present priority */
  priority: orNull(priorityRule),
}
