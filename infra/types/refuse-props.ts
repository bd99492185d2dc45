import { type Duration, Token } from 'aws-cdk-lib'
import { BatonError, type FieldProblem } from '../../shared/core/errors.ts'
import { versionRule } from '../../shared/core/rules/options.ts'
import { type Rule, shown, unless } from '../../shared/core/rules/rules.ts'
import { whole } from '../../shared/core/rules/scalars.ts'
import { refuseFields } from '../../shared/core/rules/type-configuration.ts'
import {
  FARGATE_MEMORY_MB,
  FUNCTION_MEMORY_MB_MAX,
  FUNCTION_MEMORY_MB_MIN,
  FUNCTION_TIMEOUT_S_MAX,
  HANDLER_MARGIN_S,
  HANDLER_TIMEOUT_S_MIN,
  MAPPING_CONCURRENCY_MAX,
  MAPPING_CONCURRENCY_MIN,
  QUEUE_BATCH_SIZE,
  SERVICE_CONTAINERS_QUOTA,
  WORKER_CONCURRENCY_MAX,
} from '../bounds.ts'
import type { FoundDefinition } from './definition.ts'

type Rules = Readonly<Record<string, Rule>>

const HANDLER_RULES: Rules = {
  memorySize: whole(FUNCTION_MEMORY_MB_MIN, FUNCTION_MEMORY_MB_MAX, ' of megabytes'),
  batchSize: whole(1, QUEUE_BATCH_SIZE),
  maxConcurrency: whole(MAPPING_CONCURRENCY_MIN, MAPPING_CONCURRENCY_MAX),
  reservedConcurrency: whole(MAPPING_CONCURRENCY_MIN, Number.MAX_SAFE_INTEGER),
  version: versionRule,
}

const SERVICE_RULES: Rules = {
  concurrency: whole(1, WORKER_CONCURRENCY_MAX),
  minTasks: whole(1, SERVICE_CONTAINERS_QUOTA),
  maxTasks: whole(1, SERVICE_CONTAINERS_QUOTA),
  backlogPerTask: whole(1, Number.MAX_SAFE_INTEGER),
  version: versionRule,
}

/** @throws BatonError `invalid`, naming file, task type and field, for illegal options of a handler. */
export function refuseHandlerProps(
  entry: string,
  { type, config: { defaults } }: FoundDefinition,
  props: { readonly timeout?: Duration },
): void {
  const { timeout } = props
  const timeoutS = timeout && !timeout.isUnresolved() ? timeout.toSeconds({ integral: false }) : undefined
  refuseFields(`${entry}, task '${type}'`, [
    ...problemsOf(props, HANDLER_RULES),
    ...(timeoutS === undefined ? [] : functionTimeoutProblems(timeoutS)),
    ...runTimeoutProblems(defaults.timeoutMs, timeoutS),
  ])
}

function functionTimeoutProblems(timeoutS: number): FieldProblem[] {
  const expected = `a Duration of ${HANDLER_TIMEOUT_S_MIN} s at least and ${FUNCTION_TIMEOUT_S_MAX} s at most, which is Lambda's maximum`
  const isLegal = timeoutS >= HANDLER_TIMEOUT_S_MIN && timeoutS <= FUNCTION_TIMEOUT_S_MAX
  return isLegal ? [] : [{ path: 'timeout', message: `must be ${expected}, not ${timeoutS} s` }]
}

/** A run that outlasts its function would fail at the function's timeout instead of its own. */
function runTimeoutProblems(timeoutMs: number | undefined, timeoutS: number | undefined): FieldProblem[] {
  if (timeoutMs === undefined) return []
  const mostMs =
    timeoutS === undefined ? (FUNCTION_TIMEOUT_S_MAX - HANDLER_MARGIN_S) * 1_000 : timeoutS * 1_000
  if (timeoutMs <= mostMs) return []
  const where = timeoutS === undefined ? 'on Lambda' : 'within the timeout of its function'
  const message = `must be at most ${mostMs} ${where}, not ${timeoutMs}; serve longer runs with addWorkerService`
  return [{ path: 'timeoutMs', message }]
}

/** @throws BatonError `invalid`, naming file and field, for illegal options of a worker service. */
export function refuseServiceProps(
  entry: string,
  props: { readonly cpu: number; readonly memory: number },
): void {
  refuseFields(entry, [...problemsOf(props, SERVICE_RULES), ...sizeProblems(props)])
}

/** Fargate offers certain sizes only, and refuses others in the middle of a deployment. */
function sizeProblems({ cpu, memory }: { readonly cpu: number; readonly memory: number }): FieldProblem[] {
  if (Token.isUnresolved(cpu) || Token.isUnresolved(memory)) return []
  const sizes = FARGATE_MEMORY_MB[cpu]
  if (!sizes) return unless(false, `one of ${Object.keys(FARGATE_MEMORY_MB).join(', ')}`, cpu, 'cpu')
  const { min, max, step } = sizes
  const isSize = memory >= min && memory <= max && (memory - min) % step === 0
  if (isSize || (cpu === 256 && memory === 512)) return []
  const message = `must be ${min}–${max} in steps of ${step} with cpu ${cpu}${cpu === 256 ? ', or 512' : ''}, not ${shown(memory)}`
  return [{ path: 'memory', message }]
}

function problemsOf(props: object, rules: Rules): FieldProblem[] {
  return Object.entries(rules).flatMap(([name, rule]) => {
    const value: unknown = (props as Record<string, unknown>)[name]
    return value === undefined || Token.isUnresolved(value) ? [] : rule.problems(value, name)
  })
}

/** The variable with the version under which functions and containers claim. */
export const WORKER_VERSION = 'BATON_WORKER_VERSION'

/** @throws BatonError `invalid` when a user's environment variable has a name that is reserved for Baton. */
export function refuseReserved(environment: Readonly<Record<string, string>> = {}): void {
  const reserved = Object.keys(environment).find(name => name.startsWith('BATON_'))
  if (reserved)
    throw new BatonError(
      'invalid',
      `the environment variable ${reserved} has a reserved name; choose one that does not begin with BATON_`,
    )
}
