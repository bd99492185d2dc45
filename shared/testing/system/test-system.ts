import type { PublishBody } from '../../api/publish.ts'
import type { Claim } from '../../api/runs.ts'
import type { ApiSchedule, ScheduleBody } from '../../api/schedules.ts'
import type { ApiTask } from '../../api/tasks.ts'
import type { Counts, PausedType, TypeBody } from '../../api/types.ts'
import type { Client } from '../../client/client.ts'
import type { AnswerTo, ClientArguments } from '../../client/publish.ts'
import { configurationProblems, refuseFields, typeRule } from '../../core/rules/type-configuration.ts'
import type { StatusReason } from '../../core/status.ts'
import type { Status } from '../../core/task/lifecycle.ts'
import type { TaskError } from '../../core/task-error/task-error.ts'
import type { TypeConfiguration, TypeLimits } from '../../core/types/task-type.ts'
import { illegal, type Json } from '../../core/values/values.ts'
import type { Canvas } from '../../define/canvases.ts'
import type { ScheduleDefinition } from '../../define/define-schedule.ts'
import type { AnyDefinition, NameOf, TaskDefinition } from '../../define/definitions.ts'
import { distinctTasks } from '../../define/definitions.ts'
import type { Log, LogFields } from '../../ports/machine.ts'
import type { Moment, Strikes } from '../world/serve-handler.ts'

export type ClaimOptions = {
  /** The worker that claims. @default 'test-worker' */
  readonly workerId?: string
  /** How many tasks it claims at most. @default 1 */
  readonly limit?: number
}

/** A task that the test has claimed as an HTTP worker does, and the reports of that worker. */
export type ClaimedRun = Claim & {
  /** Renews the lease. @throws ProblemError when the run is over */
  heartbeat(progress?: Json): Promise<void>
  /** Ends the run as a success. @throws ProblemError when the run is over */
  succeed(result?: Json): Promise<ApiTask>
  /** Ends the run as a failure. @throws ProblemError when the run is over */
  fail(error: TaskError, how?: { readonly fatal?: boolean; readonly retryInMs?: number }): Promise<ApiTask>
  /** Gives the task back. @throws ProblemError when the run is over */
  release(delayMs?: number): Promise<ApiTask>
}

/** A type, by its name or by its definition. */
export type TypeName = string | { readonly type: string }

/** Which tasks `tasks` returns. */
export type TaskFilter = {
  readonly type?: TypeName
  /** One status, or several. */
  readonly status?: Status | readonly Status[]
  readonly userId?: string
}

/** A log line of a handler. */
export type LogLine = {
  readonly level: keyof Log
  readonly message: string
  readonly fields: LogFields
  readonly taskId: string
  readonly runId: string
}

/** The limits of a type, and the tasks that they let run and let wait. */
export type LimitState = TypeLimits & {
  /** The ids of its running tasks. */
  readonly running: readonly string[]
  readonly waiting: ReadonlyArray<{ readonly id: string; readonly reason: StatusReason }>
}

/** When a worker dies or freezes within a run, and in which runs. */
export type WorkerFault = Strikes & {
  /**
   * `start`: before the handler is called. `end`: the handler has done its work, and the worker has not reported it yet. It
   * matters only for a run that has not begun.
   *
   * @default 'end'
   */
  readonly when?: Moment
}

/** The calls of the client that a test system has under the same names, with the same answers and refusals. */
type ClientCalls = Pick<
  Client,
  | ('cancel' | 'retry' | 'remove' | 'patch' | 'canvas' | 'cancelCanvas')
  | ('removeSchedule' | 'pauseSchedule' | 'resumeSchedule' | 'triggerSchedule')
>

/** What a test can do to a system, in memory or deployed. */
export type SystemUnderTest = ClientCalls & {
  /** Publishes a task or a canvas, given as to the client's `publish`, and returns the answer of the API. */
  publish<What extends AnyDefinition | Canvas | string = never>(
    what: What | NameOf<What> | PublishBody,
    ...given: ClientArguments<What>
  ): Promise<AnswerTo<What>>
  /** Pauses a type: none of its tasks starts any more. */
  pause(type: TypeName): Promise<PausedType>
  /** Ends the pause of a type. */
  resume(type: TypeName): Promise<PausedType>
  /** Reads a schedule, after it was created or replaced if `schedule` is given. */
  schedule(name: string, schedule?: ScheduleBody): Promise<ApiSchedule>
  /** Claims tasks of a type of kind `http`, as a worker over HTTP does. Empty when none is ready. */
  claim(type: TypeName, options?: ClaimOptions): Promise<ClaimedRun[]>
  /**
   * Lets the system run until nothing more happens by itself. In memory: virtual time passes until no task is open, or until
   * each open task waits for something other than time, such as the end of a pause. Deployed: until no task that this test
   * system has published is open.
   *
   * @throws BatonError `refused` when tasks are open after `within` (in memory virtual time, default 366 days; deployed real
   * time, default 60 s). The message names them.
   */
  runUntilIdle(options?: { readonly within?: Duration }): Promise<void>
  /** Lets virtual time pass: milliseconds, or text such as `30s`, `3d` or `1h30m`. Everything that falls due happens at its time. */
  advance(duration: Duration): Promise<void>
  /** Lets the next run of a task, or of a type, fail with this error, in place of its handler. */
  fail(target: TypeName, error: unknown, strikes?: Strikes): void
  /**
   * Lets the worker of a task die: the one that runs it now, or else the one that runs it next. It sends no more heartbeats,
   * and its run is lost when the lease has ended.
   */
  kill(target: TypeName, fault?: WorkerFault): void
  /**
   * Freezes the worker of a task for a time: the one that runs it now, or else the one that runs it next. It sends no
   * heartbeats meanwhile. When it continues, its run may be lost, and then its words are refused.
   */
  freeze(target: TypeName, duration: Duration, fault?: WorkerFault): void
  /** Lets the runs of a task, or of a type, last this long in virtual time. Real work takes no virtual time. @default 0 */
  takes(target: TypeName, duration: Duration): void
  /** For handlers: waits in virtual time, or until `signal` aborts. */
  sleep(duration: Duration, signal?: AbortSignal): Promise<void>
}

/** A system in memory, with virtual time. Its reads show what the last awaited call has left. */
export type TestSystem = SystemUnderTest & {
  /** The task with everything that the API shows of it. @throws BatonError `invalid` for an unknown id; it names the nearest */
  task(id: string): ApiTask
  /** The tasks that fit the filter, in the order of their publish. */
  tasks(filter?: TaskFilter): ApiTask[]
  /** The tasks that this task has published: by `ctx.publish`, or as its callbacks. */
  children(id: string): ApiTask[]
  /** The number of tasks of a type by status. */
  counts(type: TypeName): Counts
  /** The limits of a type, with the tasks that run and that wait for a limit. */
  limits(type: TypeName): LimitState
  /** The log lines of handlers: of all tasks, or of one. */
  logs(id?: string): LogLine[]
  /** The present virtual time. */
  now(): Date
}

type Reads = Omit<TestSystem, keyof SystemUnderTest | 'logs' | 'limits' | 'now'>

/** A deployed system or a local one, under its URL. Its reads are requests. */
export type DeployedTestSystem = SystemUnderTest & {
  readonly [Name in keyof Reads]: (...given: Parameters<Reads[Name]>) => Promise<ReturnType<Reads[Name]>>
} & {
  /** @throws BatonError `refused`: a deployed system does not show it */
  logs(id?: string): never
  /** @throws BatonError `refused`: a deployed system does not show it */
  limits(type: TypeName): never
  /** @throws BatonError `refused`: there is no virtual time */
  now(): never
}

export function nameOf(type: TypeName): string {
  return typeof type === 'string' ? type : type.type
}

/** A length of virtual time: milliseconds, or a text such as `250ms`, `30s`, `5m`, `2h`, `3d`, `1w` or `1h30m`. */
export type Duration = number | string

const UNITS_MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const

const PART = /(\d+(?:\.\d+)?)(ms|[smhdw])/g
const WHOLE = /^(?:\d+(?:\.\d+)?(?:ms|[smhdw]))+$/

/** The duration in whole milliseconds. @throws BatonError `invalid`, which names the caller and what is legal */
export function durationMs(caller: string, duration: Duration): number {
  if (typeof duration === 'number' && Number.isFinite(duration) && duration >= 0) return Math.round(duration)
  if (typeof duration === 'string' && WHOLE.test(duration)) return Math.round(sumOf(duration))
  const given = typeof duration === 'string' ? `'${duration}'` : String(duration)
  throw illegal(
    `${caller}: ${given} is not a duration; give milliseconds (0 or more), or text such as '250ms', '30s', '5m', '2h', '3d', '1w' or '1h30m'`,
  )
}

function sumOf(text: string): number {
  return [...text.matchAll(PART)].reduce(
    (sum, [, amount, unit]) => sum + Number(amount) * UNITS_MS[unit as keyof typeof UNITS_MS],
    0,
  )
}

/** The settings of a test system in memory. */
export type MemorySettings = {
  /** The tasks that the system serves. */
  readonly tasks?: readonly AnyDefinition[]
  /** The flows that the system serves. The tasks of their steps need not be listed. */
  readonly flows?: readonly AnyDefinition[]
  /** Types without a handler here, by name: such as `{ encode: { kind: 'http' } }`, whose tasks the test claims. @default none */
  readonly types?: Readonly<Record<string, TypeBody>>
  /**
   * What `defineSchedule` returns, kept as by a deployment, or schedules by name, as over HTTP. Their first tick comes after the
   * system's start. @default none
   */
  readonly schedules?: readonly ScheduleDefinition[] | Readonly<Record<string, ScheduleBody>>
  /** When virtual time begins: a `Date`, an ISO text, or milliseconds since 1970. @default 2027-01-01T00:00:00.000Z */
  readonly now?: Date | string | number
  /** Decides generated keys, jitter and everything else that is random. @default 1 */
  readonly seed?: number
  /** How long a handler may work in real time before the test fails, in milliseconds. @default 10,000 */
  readonly handlerPatienceMs?: number
  /** Receives the log lines of handlers and of the system, such as `console`. @default no output */
  readonly log?: Log
  readonly url?: undefined
}

const DEFAULT_START = '2027-01-01T00:00:00.000Z'
/** Far enough before the last time that a `Date` can have. */
const START_MAX = Date.UTC(9_000, 0)

/** The settings in the form in which the world takes them. @throws BatonError `invalid`, which names the field */
export function resolvedSettings(settings: MemorySettings) {
  const { tasks = [], flows = [], types = {}, seed = 1, handlerPatienceMs = 10_000 } = settings
  const given = [...tasks, ...flows]
  const wrong = given.find(one => one?.kind !== 'baton-task' && one?.kind !== 'baton-flow')
  if (wrong !== undefined || given.includes(undefined as never)) {
    throw illegal('tasks and flows must list what defineTask and defineFlow return')
  }
  const distinct = [...new Set(given)] as Parameters<typeof distinctTasks>[0][number][]
  return {
    definitions: distinctTasks(distinct),
    flows: distinct.flatMap(one => (one.kind === 'baton-flow' ? [one] : [])),
    types: Object.entries(types).map(([name, body]) => [name, checkedType(name, body)] as const),
    start: startOf(settings.now ?? DEFAULT_START),
    seed,
    handlerPatienceMs,
  } satisfies { definitions: TaskDefinition[] } & Record<string, unknown>
}

function checkedType(name: string, body: TypeBody): TypeConfiguration {
  refuseFields(`types.${name}`, typeRule.problems(body, ''))
  const configuration = { defaults: {}, ...body } as TypeConfiguration
  refuseFields(`types.${name}`, configurationProblems(configuration))
  if (configuration.kind === 'http') return configuration
  throw illegal(
    `types.${name}: kind must be 'http', not '${configuration.kind}'; give handlers as tasks and flows as flows`,
  )
}

function startOf(now: Date | string | number): number {
  const time = typeof now === 'number' ? Math.floor(now) : new Date(now).getTime()
  if (time >= 0 && time <= START_MAX) return time
  throw illegal(
    `now: ${String(now)} is not a time; give a Date, text such as '2027-03-28T00:00:00Z', or milliseconds since 1970`,
  )
}
