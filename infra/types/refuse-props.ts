import { type Duration, Token } from 'aws-cdk-lib'
import type { Architecture } from 'aws-cdk-lib/aws-lambda'
import { SHARDS_MAX } from '../../shared/core/bounds.ts'
import { unknownFieldMessages } from '../../shared/core/rules/compound.ts'
import { versionRule } from '../../shared/core/rules/options.ts'
import { type Rule, shown, unless } from '../../shared/core/rules/rules.ts'
import { flag, whole } from '../../shared/core/rules/scalars.ts'
import { refuseFields } from '../../shared/core/rules/type-configuration.ts'
import { type FieldProblem, illegal } from '../../shared/core/values/values.ts'
import {
  FUNCTION_MEMORY_MB_MAX,
  FUNCTION_MEMORY_MB_MIN,
  FUNCTION_TIMEOUT_S_MAX,
  HANDLER_MARGIN_S,
  MAPPING_CONCURRENCY_MIN,
  QUEUE_BATCH_SIZE,
  TASKS_PER_SHARD,
} from '../bounds.ts'
import type { FoundDefinition } from './definition.ts'
import type { FunctionProps } from './function-rules.ts'
import { architectureProblems, bundlingRule, placementProblems, textsRule } from './function-rules.ts'

type Sizes = { readonly min: number; readonly max: number; readonly step: number }

/** The legal memory sizes for each number of CPU units. 512 MB is legal with 256, too. Source: Fargate task sizes. */
const FARGATE_MEMORY_MB: Readonly<Record<number, Sizes>> = {
  256: { min: 1_024, max: 2_048, step: 1_024 },
  512: { min: 1_024, max: 4_096, step: 1_024 },
  1024: { min: 2_048, max: 8_192, step: 1_024 },
  2048: { min: 4_096, max: 16_384, step: 1_024 },
  4096: { min: 8_192, max: 30_720, step: 1_024 },
  8192: { min: 16_384, max: 61_440, step: 4_096 },
  16384: { min: 32_768, max: 122_880, step: 8_192 },
}
const WORKER_CONCURRENCY_MAX = 1_000
/** The most containers of one service. Source: ECS quotas, tasks per service. */
const SERVICE_CONTAINERS_QUOTA = 5_000
/** The largest maximum concurrency of an SQS mapping. Source: Lambda event source mapping API reference. */
const MAPPING_CONCURRENCY_MAX = 1_000
/** A run is aborted 3 s before its function ends. A function with a shorter timeout would leave its runs no time. */
const HANDLER_TIMEOUT_S_MIN = 10

/** The most that 64 shards of a type serve. */
const tasksRule = whole(1, SHARDS_MAX * TASKS_PER_SHARD, ' of tasks a second')

/** The options of a function. Those without a rule here are checked where they are used, or by CDK. */
const FUNCTION_RULES: Readonly<Record<keyof FunctionProps, Rule | undefined>> = {
  memorySize: whole(FUNCTION_MEMORY_MB_MIN, FUNCTION_MEMORY_MB_MAX, ' of megabytes'),
  batchSize: whole(1, QUEUE_BATCH_SIZE),
  maxConcurrency: whole(MAPPING_CONCURRENCY_MIN, MAPPING_CONCURRENCY_MAX),
  reservedConcurrency: whole(MAPPING_CONCURRENCY_MIN, Number.MAX_SAFE_INTEGER),
  expectedTasksPerSecond: tasksRule,
  version: versionRule,
  events: flag(),
  bundling: bundlingRule,
  environment: textsRule,
  ephemeralStorageSize: undefined,
  timeout: undefined,
  architecture: undefined,
  layers: undefined,
  vpc: undefined,
  vpcSubnets: undefined,
  securityGroups: undefined,
  allowPublicSubnet: flag(),
  logLevel: undefined,
  otherTypes: undefined,
}

/** The options of `addHandler`. */
export const HANDLER_NAMES = ['entry', 'task', ...Object.keys(FUNCTION_RULES)]
/** The options of `addHandlers`. */
export const GROUP_NAMES = ['entries', ...Object.keys(FUNCTION_RULES)]

const SERVICE_RULES: Readonly<Record<string, Rule>> = {
  concurrency: whole(1, WORKER_CONCURRENCY_MAX),
  minTasks: whole(1, SERVICE_CONTAINERS_QUOTA),
  maxTasks: whole(1, SERVICE_CONTAINERS_QUOTA),
  backlogPerTask: whole(1, Number.MAX_SAFE_INTEGER),
  expectedTasksPerSecond: tasksRule,
  healthCheck: flag(),
  version: versionRule,
  events: flag(),
  bundling: bundlingRule,
  environment: textsRule,
}

const SERVICE_NAMES = [
  ...['entry', 'dockerfile', 'architecture', 'cpu', 'memory', 'drainSeconds'],
  ...['logLevel', 'otherTypes', 'cluster', 'vpc', 'subnets'],
  ...Object.keys(SERVICE_RULES),
]

/** @throws BatonError `invalid`, naming entry and field, for options that do not exist, and for wrong ways to load the entry. */
export function refuseUnloadable(entry: string, props: FunctionProps, names: readonly string[]): void {
  refuseFields(entry, [
    ...unknownProblems(props, names),
    ...problemsOf({ bundling: props.bundling }, FUNCTION_RULES),
  ])
}

/** @throws BatonError `invalid`, naming what the function serves and the field, for illegal options of a function. */
export function refuseFunctionProps(served: string, props: FunctionProps): void {
  const timeoutS = secondsOf(props.timeout)
  refuseFields(served, [
    ...problemsOf(props, FUNCTION_RULES),
    ...(timeoutS === undefined ? [] : functionTimeoutProblems(timeoutS)),
    ...placementProblems(props),
  ])
  refuseReserved(props.environment)
}

/** @throws BatonError `invalid`, naming entry and task type, when a run may outlast the function. */
export function refuseTimeouts(
  entry: string,
  { type, config: { defaults } }: FoundDefinition,
  timeout: Duration | undefined,
): void {
  const { timeoutMs } = defaults
  const timeoutS = secondsOf(timeout)
  const mostMs = (timeoutS ?? FUNCTION_TIMEOUT_S_MAX - HANDLER_MARGIN_S) * 1_000
  if (timeoutMs === undefined || timeoutMs <= mostMs) return
  // A run that outlasts its function would fail at the function's timeout instead of its own.
  const where = timeoutS === undefined ? 'on Lambda' : 'within the timeout of its function'
  const message = `must be at most ${mostMs} ${where}, not ${timeoutMs}; serve longer runs with addWorkerService`
  refuseFields(`${entry}, task '${type}'`, [{ path: 'timeoutMs', message }])
}

/** @throws BatonError `invalid`, naming the entry and each field, for options that do not exist. */
export function refuseUnknown(entry: string, props: object, names: readonly string[]): void {
  refuseFields(entry, unknownProblems(props, names))
}

/** The problem of each option that is not one of `names`. */
export function unknownProblems(props: object, names: readonly string[]): FieldProblem[] {
  const unknown = Object.entries(props).flatMap(([name, value]) =>
    names.includes(name) || value === undefined ? [] : [name],
  )
  const messages = unknownFieldMessages(unknown, names)
  return unknown.map((path, index) => ({ path, message: messages[index] ?? '' }))
}

function secondsOf(timeout: Duration | undefined): number | undefined {
  return timeout && !timeout.isUnresolved() ? timeout.toSeconds({ integral: false }) : undefined
}

function functionTimeoutProblems(timeoutS: number): FieldProblem[] {
  const expected = `a Duration of ${HANDLER_TIMEOUT_S_MIN} s at least and ${FUNCTION_TIMEOUT_S_MAX} s at most, which is Lambda's maximum`
  const isLegal = timeoutS >= HANDLER_TIMEOUT_S_MIN && timeoutS <= FUNCTION_TIMEOUT_S_MAX
  return isLegal ? [] : [{ path: 'timeout', message: `must be ${expected}, not ${timeoutS} s` }]
}

/** @throws BatonError `invalid`, naming file and field, for illegal options of a worker service. */
export function refuseServiceProps(
  entry: string,
  props: { readonly cpu: number; readonly memory: number; readonly architecture: Architecture },
): void {
  refuseFields(entry, [
    ...unknownProblems(props, SERVICE_NAMES),
    ...problemsOf(props, SERVICE_RULES),
    ...sizeProblems(props),
    ...architectureProblems(props.architecture),
  ])
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

/** The problems of options that have a rule. */
export function problemsOf(props: object, rules: Readonly<Record<string, Rule | undefined>>): FieldProblem[] {
  return Object.entries(rules).flatMap(([name, rule]) => {
    const value: unknown = (props as Record<string, unknown>)[name]
    return !rule || value === undefined || Token.isUnresolved(value) ? [] : rule.problems(value, name)
  })
}

/** The variable with the version under which functions and containers claim. */
export const WORKER_VERSION = 'BATON_WORKER_VERSION'

/** @throws BatonError `invalid` when a user's environment variable has a name that is reserved for Baton. */
export function refuseReserved(environment: Readonly<Record<string, string>> = {}): void {
  const reserved = Object.keys(environment).find(name => name.startsWith('BATON_'))
  if (reserved)
    throw illegal(
      `the environment variable ${reserved} has a reserved name; choose one that does not begin with BATON_`,
    )
}
