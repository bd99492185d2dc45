import type { ApiTask } from '../../api/tasks.ts'
import type { Counts } from '../../api/types.ts'
import { createOperations } from '../../client/operations.ts'
import type { Send } from '../../client/send.ts'
import { thereAre } from '../../core/rules/rules.ts'
import { STATUSES } from '../../core/states.ts'
import { type StatusReason, statusOf, statusReasonOf } from '../../core/status.ts'
import { isCanvas } from '../../core/task/head.ts'
import { workOf } from '../../core/task/piece.ts'
import { liveRuns, needsAttention, splitTaskId, type Task } from '../../core/task/task.ts'
import type { TypeLimits } from '../../core/types/task-type.ts'
import { BatonError, illegal } from '../../core/values/values.ts'
import type { Log, LogFields } from '../../ports/machine.ts'
import { cachedLimitReader } from '../../runtime/limits/limit-usage.ts'
import { readServed, type StatusReaders } from '../../runtime/read/served.ts'
import { putType, registerFlowType, registerHandlerType } from '../../runtime/types/types.ts'
import { deploySchedule } from '../../service/deploy-schedule.ts'
import { OPERATIONS } from '../../service/operations.ts'
import { sendToService } from '../../service/send-to-service.ts'
import { createServing, operationFinder, type Service } from '../../service/service.ts'
import type { Fault, Strikes } from '../world/serve-handler.ts'
import { createWorld, type World } from '../world/world.ts'
import { callsOf, checkInput, claimBy, type Publishable, publishBy } from './calls.ts'
import { createSnapshot, type Snapshot } from './snapshot.ts'
import type { LogLine, MemorySettings, TaskFilter, TestSystem, TypeName, WorkerFault } from './test-system.ts'
import { durationMs, nameOf, resolvedSettings } from './test-system.ts'

/** Starts a system in memory and registers its types and schedules. */
export async function createMemorySystem(settings: MemorySettings): Promise<TestSystem> {
  const { definitions, flows, types, ...rest } = resolvedSettings(settings)
  const lines: LogLine[] = []
  const world = createWorld({
    ...rest,
    definitions,
    log: settings.log ?? SILENT,
    onHandlerLine: (level, message, fields) => void lines.push(lineOf(level, message, fields)),
  })
  const { system } = world
  for (const { type, config } of definitions) await registerHandlerType(system, type, config)
  for (const [type, configuration] of types) await putType(system, type, configuration)
  for (const { type, config } of flows) await registerFlowType(system, type, config)
  const typeLimits = new Map<string, TypeLimits | undefined>(
    (await system.types.list()).map(({ type, configuration }) => [type, configuration.limits]),
  )
  const { schedules = [] } = settings
  const [defined, byName] = Array.isArray(schedules) ? [schedules, {}] : [[], schedules]
  for (const { name, schedule } of defined) await deploySchedule(system, name, schedule, CALLER)
  const test = await faceOf(world, { lines, typeLimits })
  for (const [name, schedule] of Object.entries(byName)) await test.schedule(name, schedule)
  return test
}

/** The principal of the calls of a test, as operations of heads record it. */
const CALLER = 'test'

type Known = {
  readonly lines: readonly LogLine[]
  /** The limits of each registered type. */
  readonly typeLimits: ReadonlyMap<string, TypeLimits | undefined>
}

async function faceOf(world: World, { lines, typeLimits }: Known): Promise<TestSystem> {
  const { system, timeline } = world
  const readers: StatusReaders = {
    typeOf: type => system.types.get(type),
    liveWorkers: () => system.workers.list(),
    limitHolding: cachedLimitReader(system),
  }
  const snapshot = createSnapshot(world, readers)
  const exclusively = createTurns(world, snapshot)
  const idleness = createIdleness(world, readers)
  const sendNow = sendToService(serviceOf(world, readers), CALLER)
  const send: Send = (...request) => exclusively(() => sendNow(...request))
  const isType = (name: string) => typeLimits.has(name)
  const typeName = (type: TypeName) => knownType(nameOf(type), [...typeLimits.keys()])
  await snapshot.refresh()
  return {
    ...callsOf(createOperations(send), claimBy(send)),
    ...readsOf(snapshot, typeName),
    ...faultsOf(world, target => knownTarget(nameOf(target), isType, world)),
    publish: ((what: Publishable, ...given: unknown[]) =>
      exclusively(async () => {
        await checkInput(what, given[0])
        return publishBy(sendNow, what, given)
      })) as unknown as TestSystem['publish'],
    advance: duration => exclusively(async () => world.run(timeline.now() + durationMs('advance', duration))),
    runUntilIdle: ({ within = IDLE_WITHIN } = {}) =>
      exclusively(() => idleness.run(durationMs('runUntilIdle', within))),
    limits: type => limitsOf(typeName(type), snapshot, typeLimits),
    logs: id => lines.filter(line => id === undefined || line.taskId === id),
    now: () => new Date(timeline.now()),
  }
}

const WORK = OPERATIONS.filter(({ tag }) => tag === 'Work')
const isWork = operationFinder(WORK)

/** Claims and reports of workers wait in virtual time, as in the functions. All other calls of a test take none. */
function serviceOf({ system, functions }: World, readers: StatusReaders): Service {
  const workers = createServing(functions, WORK, readers)
  const others = createServing(system, OPERATIONS, readers)
  return request => (isWork(request.method, request.path).ok ? workers : others)(request)
}

const IDLE_WITHIN = '366d'

type Exclusively = <T>(call: () => Promise<T>) => Promise<T>

/** Runs the calls of a test one after the other, and brings the snapshot up to date after each. */
function createTurns({ activity }: World, snapshot: Snapshot): Exclusively {
  let last: Promise<unknown> = Promise.resolve()
  return call => {
    if (activity.caller()) {
      throw new BatonError(
        'refused',
        'a handler cannot call the test system: it publishes with ctx.publish(…)',
      )
    }
    const turn = last.then(call).finally(snapshot.refresh)
    last = turn.catch(() => undefined)
    return turn
  }
}

function readsOf(
  snapshot: Snapshot,
  typeName: (type: TypeName) => string,
): Pick<TestSystem, 'task' | 'tasks' | 'children' | 'counts'> {
  const task = (id: string) => {
    const found = snapshot.get(id)
    if (found) return found
    throw unknownTask(id, snapshot.all())
  }
  const tasks = ({ type, status, userId }: TaskFilter = {}) => {
    const name = type === undefined ? undefined : typeName(type)
    const statuses = status === undefined ? undefined : [status].flat()
    return snapshot
      .all()
      .filter(one => name === undefined || one.type === name)
      .filter(one => statuses === undefined || statuses.includes(one.status))
      .filter(one => userId === undefined || one.userId === userId)
  }
  return {
    task,
    tasks,
    children: id => {
      task(id)
      return snapshot.all().filter(({ parentId }) => parentId === id)
    },
    counts: type => {
      const counts = Object.fromEntries(STATUSES.map(status => [status, 0])) as Record<keyof Counts, number>
      for (const { status } of tasks({ type })) counts[status] += 1
      return counts
    },
  }
}

function limitsOf(
  type: string,
  snapshot: Snapshot,
  typeLimits: Known['typeLimits'],
): ReturnType<TestSystem['limits']> {
  const tasks = snapshot.all().filter(one => one.type === type || one.stepType === type)
  return {
    ...typeLimits.get(type),
    running: tasks.filter(({ status }) => status === 'running').map(({ id }) => id),
    waiting: tasks.flatMap(({ id, statusReason: reason }) =>
      reason === 'rate-limit' || reason === 'concurrency-limit' ? [{ id, reason }] : [],
    ),
  }
}

type Faults = Pick<TestSystem, 'fail' | 'kill' | 'freeze' | 'takes' | 'sleep'>

function faultsOf({ handlers }: World, known: (target: TypeName) => string): Faults {
  const plan = (target: TypeName, fault: Fault, strikes: Strikes) => {
    const name = known(target)
    const present = fault.kind === 'fail' ? undefined : handlers.processesOf(name)[0]
    if (!present || fault.kind === 'fail') return handlers.plan(name, fault, strikes)
    if (fault.kind === 'kill') present.kill()
    else present.freeze(fault.ms)
  }
  return {
    fail: (target, error, strikes = {}) =>
      plan(target, { kind: 'fail', error: typeof error === 'string' ? new Error(error) : error }, strikes),
    kill: (target, { when = 'end', ...strikes }: WorkerFault = {}) =>
      plan(target, { kind: 'kill', when }, strikes),
    freeze: (target, duration, { when = 'end', ...strikes }: WorkerFault = {}) =>
      plan(target, { kind: 'freeze', when, ms: durationMs('freeze', duration) }, strikes),
    takes: (target, duration) => handlers.last(known(target), durationMs('takes', duration)),
    sleep: async (duration, signal) => handlers.sleep(durationMs('sleep', duration), signal),
  }
}

/** A type, or a task that exists. @throws BatonError `invalid` or `unknown-type` */
function knownTarget(name: string, isType: (name: string) => boolean, { heads }: World): string {
  if (isType(name) || heads.has(name)) return name
  if (splitTaskId(name)) throw unknownTask(name, [...heads.values()])
  throw illegal(`'${name}' is neither a type of this test system nor the id of a task`)
}

function unknownTask(id: string, tasks: ReadonlyArray<Pick<ApiTask, 'id'>>): BatonError {
  const existing = tasks.map(one => one.id)
  const others = existing.length === 0 ? '; none is published yet' : thereAre(id, existing)
  return illegal(`there is no task ${id}${others}`)
}

function knownType(name: string, types: readonly string[]): string {
  if (types.includes(name)) return name
  throw new BatonError('unknown-type', `'${name}' is not a type of this test system${thereAre(name, types)}`)
}

const SILENT: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

/** A handler's line without the fields that the system adds to it. */
function lineOf(level: keyof Log, message: string, given: LogFields): LogLine {
  const { taskId, runId, traceId: _traceId, ...fields } = given
  return { level, message, fields, taskId: String(taskId), runId: String(runId) }
}

/** Reasons for a wait that time alone does not end. */
const ENDLESS: ReadonlySet<StatusReason | undefined> = new Set([
  'paused',
  'no-worker',
  'no-handler',
  'target-worker',
])

/** Lets time pass until no task continues by itself. Schedules tick for ever and do not count, but the tasks of their ticks do. */
function createIdleness(world: World, readers: StatusReaders): { run(withinMs: number): Promise<void> } {
  const { timeline, open, heads } = world
  const goesOn = async (task: Task): Promise<boolean> => {
    if (liveRuns(task).length > 0) return true
    if (needsAttention(task)) return false
    const reason = statusReasonOf(task, timeline.now(), await readServed(readers, task))
    if (task.state !== 'open') return reason !== undefined
    const isForClaim = workOf(task).kind === 'http' && reason === undefined && task.dueAt <= timeline.now()
    return !isForClaim && !ENDLESS.has(reason)
  }
  const runningCanvas = () => [...heads.values()].some(head => isCanvas(head) && head.state === 'open')
  const isIdle = async () => {
    for (const task of open.values()) if (await goesOn(task)) return false
    return open.size > 0 || !runningCanvas()
  }
  return {
    run: async withinMs => {
      const until = timeline.now() + withinMs
      // Everything that happens at the present time comes first: it may open more tasks.
      await world.run(timeline.now())
      if (await isIdle()) return
      let isOver = false
      await world.run(until, async () => {
        if (timeline.next() > timeline.now()) isOver = await isIdle()
        return isOver
      })
      if (!isOver && !(await isIdle())) throw stillOpen([...open.values()], withinMs, timeline.now())
    },
  }
}

const NAMED_MAX = 5

function stillOpen(tasks: readonly Task[], withinMs: number, now: number): BatonError {
  const named = tasks
    .slice(0, NAMED_MAX)
    .map(task => `${task.id} (${task.state === 'open' ? statusOf(task, now) : task.state})`)
  const more = tasks.length > named.length ? ` and ${tasks.length - named.length} more` : ''
  return new BatonError(
    'refused',
    `tasks are still open after ${withinMs} ms: ${named.join(', ')}${more}; for tasks that continue for ever use advance(…)`,
  )
}
