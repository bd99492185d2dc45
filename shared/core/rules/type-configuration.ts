import {
  PERMITS_MAX,
  RATE_PERIOD_MS_MAX,
  RATE_PERIOD_MS_MIN,
  RATE_STARTS_MAX,
  SHARDS_MAX,
  STEPS_BYTES_MAX,
  STEPS_MAX,
  TYPE_CHARACTERS_MAX,
  TYPE_NAME_PATTERN,
} from '../bounds.ts'
import { BatonError, type FieldProblem } from '../errors.ts'
import { type Json, jsonBytes } from '../json.ts'
import { DEFAULT_OPTIONS, type PartialOptions } from '../options/options.ts'
import { overlaidOptions } from '../options/overlaid-options.ts'
import { ORDERINGS, TYPE_KINDS } from '../states.ts'
import { reservedFor } from '../types/reserved-types.ts'
import type { StepConfiguration, TypeConfiguration } from '../types/task-type.ts'
import { NO_USER_IN_WEBHOOK, namesUser } from '../types/webhook-url.ts'
import { anything, listOf, objectOf } from './compound.ts'
import { optionRules, priorityRule, retryRule } from './options.ts'
import { inside, type Rule, shown } from './rules.ts'
import { duration, flag, name, oneOf, text, whole } from './scalars.ts'

/** Calls run in the webhook handler's function, which has 5 minutes. */
const MAX_WEBHOOK_MS = 240_000
const MAX_URL_CHARACTERS = 2_048
const MAX_SECRET_NAME_CHARACTERS = 512

export const typeNameRule = text(
  `1–${TYPE_CHARACTERS_MAX} of A–Z a–z 0–9 . _ -`,
  value => new RegExp(TYPE_NAME_PATTERN).test(value),
  { pattern: TYPE_NAME_PATTERN, description: 'Name of a task type' },
)

const plainUrl = text(
  `an http or https URL of at most ${MAX_URL_CHARACTERS} characters`,
  value => value.length <= MAX_URL_CHARACTERS && /^https?:\/\//i.test(value) && URL.canParse(value),
  { format: 'uri', maxLength: MAX_URL_CHARACTERS },
)

/** One that names a user is not repeated: it has a password in it. */
const receiverUrl: Rule<string> = {
  ...plainUrl,
  problems: (value, path) =>
    typeof value === 'string' && namesUser(value)
      ? [{ path, message: NO_USER_IN_WEBHOOK }]
      : plainUrl.problems(value, path),
}

const webhook = objectOf(
  {},
  {
    url: receiverUrl,
    timeoutMs: duration(1, MAX_WEBHOOK_MS),
    secretName: name(MAX_SECRET_NAME_CHARACTERS),
    allowPrivate: flag(),
  },
)

const stepAction = objectOf(
  { type: typeNameRule },
  { input: anything<Json>('Any JSON'), timeoutMs: duration(1), deadlineMs: duration(1), retry: retryRule },
)

const stepName: Rule<string> = text(
  `text of 1–${TYPE_CHARACTERS_MAX} characters without control characters, and not __proto__`,
  value => name(TYPE_CHARACTERS_MAX).problems(value, '').length === 0 && value !== '__proto__',
  { minLength: 1, maxLength: TYPE_CHARACTERS_MAX },
)

const steps = listOf(objectOf({ name: stepName, do: stepAction }, { undo: stepAction }), {
  min: 1,
  max: STEPS_MAX,
  together: stepNameProblems,
})

function stepNameProblems(list: ReadonlyArray<{ readonly name: string }>, path: string): FieldProblem[] {
  const names = list.map(step => step.name)
  return names.flatMap((own, index) => {
    const at = inside(inside(path, index), 'name')
    if (names.indexOf(own) < index) {
      return [{ path: at, message: `must be unique among the steps; ${shown(own)} is taken` }]
    }
    const undone = names.find(other => own === `undo ${other}`)
    if (undone === undefined) return []
    return [
      {
        path: at,
        message: `must not be ${shown(own)}: that is the name of the undo of step ${shown(undone)}`,
      },
    ]
  })
}

const limitKey: Rule<string> = name(TYPE_CHARACTERS_MAX)

const typeFields = {
  defaults: objectOf({}, { priority: priorityRule, ...optionRules }),
  ordering: oneOf(...ORDERINGS),
  /** With `key` (an input field, `userId` or `fairnessKey`) each of its values is limited by itself. */
  limits: objectOf(
    {},
    {
      /** At most `limit` starts in any `perMs`. */
      rate: objectOf(
        { limit: whole(1, RATE_STARTS_MAX), perMs: duration(RATE_PERIOD_MS_MIN, RATE_PERIOD_MS_MAX) },
        { key: limitKey },
      ),
      /** At most `max` runs at a time. */
      concurrency: objectOf({ max: whole(1, PERMITS_MAX) }, { key: limitKey }),
    },
  ),
  shards: whole(1, SHARDS_MAX),
  /** Whether what happens to its tasks is told as events. */
  events: flag(),
  webhook,
  /** Of kind `flow`. */
  steps,
  onCancel: oneOf('undo', 'leave'),
}

/** The configuration of a task type, field by field; what of it must go together `configurationProblems` says. */
export const typeRule = objectOf({ kind: oneOf(...TYPE_KINDS) }, typeFields)

type GivenConfiguration = Pick<TypeConfiguration, 'kind'> & Partial<TypeConfiguration>

/** What of a configuration does not go together, each of its fields being legal by itself. */
export function configurationProblems(configuration: GivenConfiguration): FieldProblem[] {
  const { kind, defaults = {}, webhook: called } = configuration
  const { priority: _priority, ...options } = defaults
  const overlaid = overlaidOptions(DEFAULT_OPTIONS, options)
  const problems = overlaid.ok ? [] : overlaid.problems
  return [
    ...problems.map(({ path, message }) => ({ path: inside('defaults', path), message })),
    ...(called && kind !== 'webhook' ? [{ path: 'webhook', message: 'is for kind "webhook" only' }] : []),
    ...(kind === 'flow' ? flowProblems(configuration, options) : notAFlowProblems(configuration)),
  ]
}

type Configuration = Pick<TypeConfiguration, 'steps' | 'ordering' | 'onCancel'>

function flowProblems({ steps: list, ordering }: Configuration, options: PartialOptions): FieldProblem[] {
  return [
    ...(list ? tooLong(list) : [{ path: 'steps', message: 'must list at least one step' }]),
    ...(ordering
      ? [{ path: 'ordering', message: 'is for the types of the steps, in whose queues they wait' }]
      : []),
    ...flowOptionProblems(options, 'defaults'),
  ]
}

function tooLong(list: readonly StepConfiguration[]): FieldProblem[] {
  const bytes = jsonBytes(list as unknown as Json)
  if (bytes <= STEPS_BYTES_MAX) return []
  const message = `have ${bytes} bytes as JSON; at most ${STEPS_BYTES_MAX} are kept: hand long inputs on as parameters`
  return [{ path: 'steps', message }]
}

function notAFlowProblems({ steps: list, onCancel }: Configuration): FieldProblem[] {
  const message = 'is for kind "flow" only'
  return [...(list ? [{ path: 'steps', message }] : []), ...(onCancel ? [{ path: 'onCancel', message }] : [])]
}

const OF_THE_WHOLE: ReadonlySet<string> = new Set(['deadlineMs', 'retentionMs'])

/** Options that a flow cannot have: each of its steps has its own. */
export function flowOptionProblems(options: object, at = ''): FieldProblem[] {
  return Object.entries(options)
    .filter(([option, value]) => value !== undefined && !OF_THE_WHOLE.has(option))
    .map(([option]) => ({
      path: inside(at, option),
      message:
        'is for the steps of a flow: set it on the step, or on its type; a flow has deadlineMs and retentionMs',
    }))
}

/** What is wrong with the name of a task type. */
export function typeNameProblems(type: unknown, path: string): FieldProblem[] {
  const taken = typeof type === 'string' ? reservedFor(type) : undefined
  if (taken) return [{ path, message: `must be another: ${shown(type)} ${taken}` }]
  return typeNameRule.problems(type, path)
}

/** What is wrong with a configuration as a definition says it: options stand in it, not beneath `defaults`. */
export function definitionProblems(configuration: TypeConfiguration): FieldProblem[] {
  const fields = typeRule.problems(configuration, '')
  const found = fields.length > 0 ? fields : configurationProblems(configuration)
  return found.map(({ path, message }) => ({ path: path.replace(/^defaults\./, ''), message }))
}

/** @throws BatonError `invalid`, naming the definition and each field that is wrong. */
export function refuseConfiguration(what: string, configuration: TypeConfiguration): void {
  refuseFields(what, definitionProblems(configuration))
}

/** @throws BatonError `invalid`, naming what is refused and each field that is wrong; none, when there is no problem. */
export function refuseFields(what: string, problems: readonly FieldProblem[]): void {
  if (problems.length === 0) return
  const texts = problems.map(({ path, message }) => `${path} ${message}`.trim())
  throw new BatonError('invalid', `${what}: ${texts.join('; ')}`, { problems })
}
