import type { ScheduleBody } from '../../api/schedules.ts'
import type { TypeBody } from '../../api/types.ts'
import { configurationProblems, refuseFields, typeRule } from '../../core/rules/type-configuration.ts'
import type { TypeConfiguration } from '../../core/types/task-type.ts'
import { BatonError } from '../../core/values/values.ts'
import type { AnyDefinition, TaskDefinition } from '../../define/definitions.ts'
import { distinctTasks } from '../../define/distinct-tasks.ts'
import type { Log } from '../../ports/machine.ts'

/** The settings of a test system in memory. */
export type MemorySettings = {
  /** The tasks that the system serves. */
  readonly tasks?: readonly AnyDefinition[]
  /** The flows that the system serves. The tasks of their steps need not be listed. */
  readonly flows?: readonly AnyDefinition[]
  /** Types without a handler here, by name: such as `{ encode: { kind: 'http' } }`, whose tasks the test claims. @default none */
  readonly types?: Readonly<Record<string, TypeBody>>
  /** Schedules by name. Their first tick comes after the system's start. @default none */
  readonly schedules?: Readonly<Record<string, ScheduleBody>>
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
    throw new BatonError('invalid', 'tasks and flows must list what defineTask and defineFlow return')
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
  throw new BatonError(
    'invalid',
    `types.${name}: kind must be 'http', not '${configuration.kind}'; give handlers as tasks and flows as flows`,
  )
}

function startOf(now: Date | string | number): number {
  const time = typeof now === 'number' ? Math.floor(now) : new Date(now).getTime()
  if (time >= 0 && time <= START_MAX) return time
  throw new BatonError(
    'invalid',
    `now: ${String(now)} is not a time; give a Date, text such as '2027-03-28T00:00:00Z', or milliseconds since 1970`,
  )
}
