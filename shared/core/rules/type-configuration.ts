import {
  INPUT_SCHEMA_BYTES_MAX,
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
import { DEFAULT_OPTIONS, overlaidOptions, type PartialOptions } from '../options.ts'
import { ORDERINGS, TYPE_KINDS } from '../states.ts'
import { undoName } from '../task/flow-state.ts'
import { reservedFor, type StepConfiguration, type TypeConfiguration } from '../types/task-type.ts'
import { NO_USER_IN_WEBHOOK, namesUser } from '../types/webhook.ts'
import { type BatonError, type FieldProblem, illegal, type Json, jsonBytes } from '../values/values.ts'
import { anything, listOf, optionals, strict } from './compound.ts'
import { optionRules, priorityRule, retryRule } from './options.ts'
import { flowOptionProblems, inside, isObject, type Rule, shown, wrong } from './rules.ts'
import { duration, flag, name, oneOf, revisionRule, text, whole } from './scalars.ts'

/** The longest timeout of a webhook's call. The call runs in the shipped webhook function, which Lambda ends after 5 minutes. */
const WEBHOOK_TIMEOUT_MS_MAX = 240_000
const URL_CHARACTERS_MAX = 2_048
const SECRET_NAME_CHARACTERS_MAX = 512

export const typeNameRule = text(
  `1–${TYPE_CHARACTERS_MAX} of A–Z a–z 0–9 . _ -`,
  value => new RegExp(TYPE_NAME_PATTERN).test(value),
  { pattern: TYPE_NAME_PATTERN, description: 'Name of a task type' },
)

/** Whether a type can have this name. The store is asked only for such names, because it cannot hold longer ones. */
export function isTypeName(text: string): boolean {
  return typeNameRule.problems(text, '').length === 0
}

const plainUrl = text(
  `an http or https URL of at most ${URL_CHARACTERS_MAX} characters`,
  value => value.length <= URL_CHARACTERS_MAX && /^https?:\/\//i.test(value) && URL.canParse(value),
  { format: 'uri', maxLength: URL_CHARACTERS_MAX },
)

/** The URL of a receiver. A message does not repeat a URL that names a user, since the URL may contain a password. */
const receiverUrl: Rule<string> = {
  ...plainUrl,
  problems: (value, path) =>
    typeof value === 'string' && namesUser(value)
      ? [{ path, message: NO_USER_IN_WEBHOOK }]
      : plainUrl.problems(value, path),
}

const webhook = strict(
  optionals({
    /** The URL of the receiver. @default the URL in each task's input */
    url: receiverUrl,
    /** How long a call may take, in milliseconds. @default 10,000 */
    timeoutMs: duration(1, WEBHOOK_TIMEOUT_MS_MAX),
    /** The name of the secret in Secrets Manager that signs the calls. @default calls are not signed */
    secretName: name(SECRET_NAME_CHARACTERS_MAX),
    /** Whether private and loopback addresses may be called. @default false */
    allowPrivate: flag(),
  }),
)

const stepAction = strict({
  /** The type whose workers do it. */
  type: typeNameRule,
  ...optionals({
    /** The input in place of the flow's parameters. @default the parameters */
    input: anything<Json>('Any JSON'),
    /** Time limit of one run, in milliseconds. @default the type's limit */
    timeoutMs: duration(1),
    /** Time limit from the first claim, in milliseconds, retries included. @default the type's limit */
    deadlineMs: duration(1),
    /** How failures are retried, where it differs from the type. @default as the type says */
    retry: retryRule,
  }),
})

const stepName: Rule<string> = text(
  `text of 1–${TYPE_CHARACTERS_MAX} characters without control characters, and not __proto__`,
  value => name(TYPE_CHARACTERS_MAX).problems(value, '').length === 0 && value !== '__proto__',
  { minLength: 1, maxLength: TYPE_CHARACTERS_MAX },
)

const step = strict({
  /** The name of the step, unique in the flow. */
  name: stepName,
  /** What does the step. */
  do: stepAction,
  ...optionals({
    /** What undoes the step, after a later step has failed for good. @default nothing */
    undo: stepAction,
  }),
})

const steps = listOf(step, { min: 1, max: STEPS_MAX, together: stepNameProblems })

function stepNameProblems(list: ReadonlyArray<{ readonly name: string }>, path: string): FieldProblem[] {
  const names = list.map(step => step.name)
  return names.flatMap((own, index) => {
    const at = inside(inside(path, index), 'name')
    if (names.indexOf(own) < index) {
      return [{ path: at, message: `must be unique among the steps; ${shown(own)} is taken` }]
    }
    const undone = names.find(other => own === undoName(other))
    if (undone === undefined) return []
    const message = `must not be ${shown(own)}: that is the name of the undo of step ${shown(undone)}`
    return [{ path: at, message }]
  })
}

/** The API lists all types at once, so it is bounded. */
const inputSchema: Rule<{ readonly [name: string]: Json }> = {
  expected: 'a JSON Schema: an object',
  schema: { type: 'object' },
  problems: (value, path) => {
    if (!isObject(value)) return [{ path, message: wrong('a JSON Schema: an object', value) }]
    const bytes = jsonBytes(value as Json)
    if (bytes <= INPUT_SCHEMA_BYTES_MAX) return []
    return [{ path, message: `must have at most ${INPUT_SCHEMA_BYTES_MAX} bytes as JSON, not ${bytes}` }]
  },
}

const limitKey: Rule<string> = name(TYPE_CHARACTERS_MAX)

const kindField = {
  /**
   * What serves the tasks: `handler` a deployed function or worker, `http` workers that claim over HTTP, `webhook` a call of a URL,
   * `flow` the types of its steps.
   */
  kind: oneOf(...TYPE_KINDS),
}

const typeFields = {
  /** The options of tasks that do not set their own. @default the system's defaults */
  defaults: strict(
    optionals({
      /** Higher comes first. @default 0 */
      priority: priorityRule,
      ...optionRules,
    }),
  ),
  /**
   * The order in which its tasks run: `arrival` by the due time, `priority` the highest first, `aged` by the due time minus `priority` seconds.
   * @default `priority` for kind `http`, else `arrival`
   */
  ordering: oneOf(...ORDERINGS),
  /** With `key` (an input field, `userId` or `fairnessKey`), each value of that field has this limit of its own. @default no limits */
  limits: strict(
    optionals({
      /** At most `limit` starts in any `perMs`. @default no limit */
      rate: strict({
        /** How many runs may start in any span of `perMs`. */
        limit: whole(1, RATE_STARTS_MAX),
        /** The span, in milliseconds. */
        perMs: duration(RATE_PERIOD_MS_MIN, RATE_PERIOD_MS_MAX),
        ...optionals({
          /** A field of the input, `userId` or `fairnessKey`. @default one limit for the type */
          key: limitKey,
        }),
      }),
      /** At most `max` runs at a time. @default no limit */
      concurrency: strict({
        /** How many runs may be under way at a time. */
        max: whole(1, PERMITS_MAX),
        ...optionals({
          /** A field of the input, `userId` or `fairnessKey`. @default one limit for the type */
          key: limitKey,
        }),
      }),
    }),
  ),
  /** The partitions of its indexes. The number may only grow. @default 4 */
  shards: whole(1, SHARDS_MAX),
  /** Whether changes of its tasks are published as events. @default false */
  events: flag(),
  /** For kind `webhook`: how the receiver is called. @default each task's input has the URL */
  webhook,
  /** For kind `flow`: the steps, in order. @default none */
  steps,
  /** For kind `flow`: whether a cancelled task undoes the steps that were done. @default undo */
  onCancel: oneOf('undo', 'leave'),
  /**
   * The JSON Schema of the input: at most 32 KB. An input that does not fit is refused on arrival, and forms are made from it.
   * @default none
   */
  inputSchema,
  /** Whether inputs are compared with `inputSchema` on arrival. @default true */
  checkInput: flag(),
}

/** The configuration of a task type, field by field. `configurationProblems` checks the fields together. */
export const typeRule = strict({ ...kindField, ...optionals(typeFields) })

/** The body that sets a configuration over the HTTP API. `ifRevision` names the revision of the type that it is meant for. */
export const givenTypeRule = strict({
  ...kindField,
  ...optionals({
    ...typeFields,
    /** The revision that the change was made from. If the present revision is another one, the request is refused with 409. @default any */
    ifRevision: revisionRule,
  }),
})

type GivenConfiguration = Pick<TypeConfiguration, 'kind'> & Partial<TypeConfiguration>

/** The problems of a configuration whose fields are legal one by one but do not fit together. */
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
    ...(list ? stepSizeProblems(list) : [{ path: 'steps', message: 'must list at least one step' }]),
    ...(ordering
      ? [{ path: 'ordering', message: 'is for the types of the steps: a flow waits in their queues' }]
      : []),
    ...flowOptionProblems(options, 'defaults'),
  ]
}

function stepSizeProblems(list: readonly StepConfiguration[]): FieldProblem[] {
  const bytes = jsonBytes(list as unknown as Json)
  if (bytes <= STEPS_BYTES_MAX) return []
  const message = `have ${bytes} bytes as JSON, and at most ${STEPS_BYTES_MAX} are allowed: pass long inputs as parameters of the flow`
  return [{ path: 'steps', message }]
}

function notAFlowProblems({ steps: list, onCancel }: Configuration): FieldProblem[] {
  const message = 'is for kind "flow" only'
  return [...(list ? [{ path: 'steps', message }] : []), ...(onCancel ? [{ path: 'onCancel', message }] : [])]
}

export function typeNameProblems(type: unknown, path: string): FieldProblem[] {
  const taken = typeof type === 'string' ? reservedFor(type) : undefined
  if (taken) return [{ path, message: `must be another name: ${shown(type)} ${taken}` }]
  return typeNameRule.problems(type, path)
}

/** The problems of a configuration, with the paths of a task definition, which has no `defaults` above its options. */
export function definitionProblems(configuration: TypeConfiguration): FieldProblem[] {
  const fields = typeRule.problems(configuration, '')
  const found = fields.length > 0 ? fields : configurationProblems(configuration)
  return found.map(({ path, message }) => ({ path: path.replace(/^defaults\./, ''), message }))
}

/** @throws BatonError `invalid` when a field is wrong. The message names the definition and each wrong field. */
export function refuseConfiguration(what: string, configuration: TypeConfiguration): void {
  refuseFields(what, definitionProblems(configuration))
}

/** @throws BatonError `invalid` when there is a problem. The message names what is refused and each wrong field. */
export function refuseFields(what: string, problems: readonly FieldProblem[]): void {
  if (problems.length > 0) throw refusalOf(what, problems)
}

/** The error that names what is refused and each wrong field. */
export function refusalOf(what: string, problems: readonly FieldProblem[]): BatonError {
  const texts = problems.map(({ path, message }) => `${path} ${message}`.trim())
  return illegal(`${what}: ${texts.join('; ')}`, { problems })
}
