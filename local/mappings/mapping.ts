import { isRecord } from '../template/intrinsics.ts'

/** An event source mapping, with the controls that tests use. */
export type Mapping = ReturnType<typeof controlOf> & {
  readonly logicalId: string
  readonly source: 'sqs' | 'dynamodb'
  /** The ARN of the queue or stream. */
  readonly sourceArn: string
  readonly functionId: string
  stop(): Promise<void>
}

/** The state that a mapping's loops read. */
export type MappingState = ReturnType<typeof newMappingState>

export const newMappingState = () => ({
  stopped: false,
  paused: false,
  deliveries: 1,
  dropped: undefined as ((records: readonly unknown[]) => boolean) | undefined,
})

/** The controls over a state. `wake` ends the present waits of the mapping's loops. */
export function controlOf(state: MappingState, wake: () => void) {
  return {
    /** Stops reading records. Batches that are under way still end. */
    pause: () => {
      state.paused = true
      wake()
    },
    resume: () => {
      state.paused = false
      wake()
    },
    /** Delivers every batch this many times (1 by default), one delivery after the other. A failed stream batch is retried instead. */
    repeat: (times: number) => {
      state.deliveries = times
    },
    /** Drops the batches that `chosen` selects, as if the function had handled them. `undefined` ends that. */
    drop: (chosen: MappingState['dropped']) => {
      state.dropped = chosen
    },
  }
}

/** The failed records of a batch, as the function reports them under `ReportBatchItemFailures`. */
type BatchOutcome =
  | { readonly kind: 'all-succeeded' }
  | { readonly kind: 'all-failed' }
  | { readonly kind: 'some-failed'; readonly identifiers: ReadonlySet<string> }

/**
 * Reads the answer as the service does. An answer without a list of failures, even a malformed one, is a success of the whole
 * batch. An entry without a known identifier is a failure of the whole batch.
 * https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html
 */
export function readBatchFailures(answer: unknown, known: ReadonlySet<string>): BatchOutcome {
  const failures = (answer as { batchItemFailures?: unknown } | null | undefined)?.batchItemFailures
  if (!Array.isArray(failures) || failures.length === 0) return { kind: 'all-succeeded' }
  const identifiers = failures.map(entry => (entry as { itemIdentifier?: unknown } | null)?.itemIdentifier)
  const allKnown = identifiers.every(identifier => typeof identifier === 'string' && known.has(identifier))
  if (!allKnown) return { kind: 'all-failed' }
  return { kind: 'some-failed', identifiers: new Set(identifiers as string[]) }
}

/** An EventBridge pattern: its objects mirror the event, and its leaves are lists of accepted values. */
export type Pattern = { readonly [key: string]: unknown }

type Rule = string | number | boolean | null | Record<string, unknown>

/** Whether a record passes a mapping's `FilterCriteria`: one matching pattern is enough. Without patterns every record passes. */
export function passesFilters(patterns: readonly Pattern[], record: unknown): boolean {
  return patterns.length === 0 || patterns.some(pattern => matchesPattern(pattern, record))
}

/** The patterns of the template's `FilterCriteria`. Throws on an unknown operator. */
export function readFilters(criteria: unknown): Pattern[] {
  const { Filters = [] } = (criteria ?? {}) as { Filters?: readonly { Pattern: string }[] }
  const patterns = Filters.map(({ Pattern }) => JSON.parse(Pattern) as Pattern)
  for (const pattern of patterns) refuseUnknownOperators(pattern)
  return patterns
}

/** Every key of the pattern must match; `$or` is satisfied by any of its alternatives. */
export function matchesPattern(pattern: Pattern, event: unknown): boolean {
  const fields = isRecord(event) ? event : {}
  return Object.entries(pattern).every(([key, expected]) => {
    if (key === '$or') return (expected as Pattern[]).some(alternative => matchesPattern(alternative, event))
    if (Array.isArray(expected)) return matchesLeaf(expected as Rule[], fields[key], key in fields)
    return matchesPattern(expected as Pattern, fields[key])
  })
}

// `exists` concerns leaves only: as on AWS, a key whose value is an object counts as absent.
function matchesLeaf(rules: readonly Rule[], value: unknown, keyIsPresent: boolean): boolean {
  const leafIsPresent = keyIsPresent && !isRecord(value)
  const values = Array.isArray(value) ? value : [value]
  return rules.some(rule => {
    if (isRecord(rule) && 'exists' in rule) return rule.exists === leafIsPresent
    return leafIsPresent && values.some(entry => matchesRule(rule, entry))
  })
}

function matchesRule(rule: Rule, value: unknown): boolean {
  if (!isRecord(rule)) return rule === value
  return Object.entries(rule).every(([operator, operand]) => operators[operator]?.(operand, value) ?? false)
}

type Operator = (operand: unknown, value: unknown) => boolean

const prefixed: Operator = (prefix, value) => typeof value === 'string' && value.startsWith(String(prefix))
const suffixed: Operator = (suffix, value) => typeof value === 'string' && value.endsWith(String(suffix))

const operators: Record<string, Operator> = {
  exists: () => true,
  prefix: prefixed,
  suffix: suffixed,
  'equals-ignore-case': (text, value) =>
    typeof value === 'string' && value.toLowerCase() === String(text).toLowerCase(),
  'anything-but': (operand, value) => {
    if (isRecord(operand)) return !matchesRule(operand, value)
    return !(Array.isArray(operand) ? operand : [operand]).includes(value)
  },
  numeric: (operand, value) => typeof value === 'number' && compares(operand as (string | number)[], value),
}

/** Whether all comparisons hold. `[">", 0, "<=", 5]` has two pairs of an operator and a bound. */
function compares(pairs: readonly (string | number)[], value: number): boolean {
  for (let at = 0; at < pairs.length; at += 2) {
    if (!comparisons[String(pairs[at])]?.(value, Number(pairs[at + 1]))) return false
  }
  return true
}

const comparisons: Record<string, (value: number, bound: number) => boolean> = {
  '=': (value, bound) => value === bound,
  '<': (value, bound) => value < bound,
  '<=': (value, bound) => value <= bound,
  '>': (value, bound) => value > bound,
  '>=': (value, bound) => value >= bound,
}

function refuseUnknownOperators(pattern: Pattern) {
  for (const [key, expected] of Object.entries(pattern)) {
    if (key === '$or') (expected as Pattern[]).forEach(refuseUnknownOperators)
    else if (Array.isArray(expected)) expected.filter(isRecord).forEach(refuseUnknownOperator)
    else if (isRecord(expected)) refuseUnknownOperators(expected)
    else throw new Error(`A filter gives ${key} a bare value; a leaf must be a list`)
  }
}

function refuseUnknownOperator(rule: Record<string, unknown>) {
  const unknown = Object.keys(rule).find(name => !(name in operators))
  if (unknown) throw new Error(`A filter uses the operator ${unknown}, which the local cloud does not know`)
}
