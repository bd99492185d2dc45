import type { Rule } from '../shared/core/rules/rules.ts'
import { whole } from '../shared/core/rules/scalars.ts'
import { refuseFields } from '../shared/core/rules/type-configuration.ts'
import { FUNCTION_MEMORY_MB_MAX, FUNCTION_MEMORY_MB_MIN } from './bounds.ts'
import type { ApiAuth, ApiProps, ClaimsProps } from './functions/api.ts'
import type { PlannerProps } from './functions/machinery.ts'
import type { SettingsProps } from './settings.ts'
import type { TableLimits, TableProps, WarmThroughput } from './task-table.ts'
import { problemsOf, unknownProblems } from './types/refuse-props.ts'

const STREAM_PARALLELIZATION_MAX = 10

/**
 * The concurrency reserved for each function, which is also its maximum. A reservation takes its share of the account's limit at
 * once, and Lambda keeps 100 unreserved. A new account has a limit of 10 and can reserve nothing.
 */
export type ReservedConcurrency = {
  readonly [Name in 'api' | 'claims' | 'planner' | 'waker' | 'jobs' | 'sweeper']?: number
}

export type TaskSystemProps = SettingsProps &
  TableProps & {
    /** Which callers the HTTP API accepts. @default 'iam' */
    readonly apiAuth?: ApiAuth
    /** Throttle, access log, CORS and waiting claims of the HTTP API. */
    readonly api?: ApiProps
    /** Concurrency that handlers cannot use up. @default none, since an account may have none to reserve */
    readonly reservedConcurrency?: ReservedConcurrency
    /** The function that reads the table's stream. */
    readonly planner?: PlannerProps
    /** Whether to deploy the shipped handler for all types of kind `webhook`. @default true */
    readonly webhook?: boolean
  }

/** The options of an object: `true`, or the options of the object in it. */
type Options<Props> = Readonly<Record<keyof Props, true | Nested>>
type Nested = { readonly [name: string]: true | Nested }

const PLANNER_RULES: Readonly<Record<keyof PlannerProps, Rule>> = {
  parallelization: whole(1, STREAM_PARALLELIZATION_MAX),
  memorySize: whole(FUNCTION_MEMORY_MB_MIN, FUNCTION_MEMORY_MB_MAX, ' of megabytes'),
}

const SYSTEM: Options<TaskSystemProps> = {
  systemName: true,
  logLevel: true,
  logRetention: true,
  removalPolicy: true,
  alarmTopic: true,
  alarms: true,
  tracing: true,
  metrics: true,
  apiAuth: true,
  api: {
    accessLog: { retention: true },
    throttle: { requestsPerSecond: true, burst: true },
    cors: { origins: true, headers: true },
    claims: { retryAfterMs: true, maxWaiting: true } satisfies Options<ClaimsProps>,
    basePath: true,
  } satisfies Options<ApiProps>,
  reservedConcurrency: {
    ...{ api: true, claims: true, planner: true },
    ...{ waker: true, jobs: true, sweeper: true },
  } satisfies Options<ReservedConcurrency>,
  tableLimits: { maxWriteUnitsPerSecond: true, maxReadUnitsPerSecond: true } satisfies Options<TableLimits>,
  warmThroughput: { writeUnitsPerSecond: true, readUnitsPerSecond: true } satisfies Options<WarmThroughput>,
  contributorInsights: true,
  planner: { parallelization: true, memorySize: true } satisfies Options<PlannerProps>,
  webhook: true,
}

/** @throws BatonError `invalid`, naming the system and each option, for options of a task system that do not exist. */
export function refuseSystemProps(path: string, props: TaskSystemProps): void {
  refuseFields(`the task system ${path}`, [
    ...problemsIn(props, SYSTEM, ''),
    ...problemsOf(props.planner ?? {}, PLANNER_RULES).map(one => ({ ...one, path: `planner.${one.path}` })),
  ])
}

function problemsIn(props: object, options: Nested, within: string): ReturnType<typeof unknownProblems> {
  const own = unknownProblems(props, Object.keys(options))
  const nested = Object.entries(options).flatMap(([name, inside]) => {
    const value: unknown = (props as Record<string, unknown>)[name]
    const isGroup = inside !== true && typeof value === 'object' && value !== null
    return isGroup ? problemsIn(value, inside, `${within}${name}.`) : []
  })
  return [...own.map(({ path, message }) => ({ path: within + path, message })), ...nested]
}
