import { BatonError } from '../../core/errors.ts'
import type { TaskDefinition } from '../../define/define-task.ts'
import type { TaskContext } from '../../define/task-context.ts'
import type { Activity } from './activity.ts'
import type { Timeline } from './timeline.ts'
import type { WorkerProcess } from './worker-process.ts'

/** Which runs a fault strikes. */
export type Strikes = {
  /** Only runs in this stage. */
  readonly stage?: string
  /** Only runs of this step of a flow. */
  readonly step?: string
  /** Only runs that do a step, or that undo it. */
  readonly direction?: 'do' | 'undo'
  /** How many runs it strikes. @default 1 */
  readonly times?: number
}

/** When a worker dies or freezes. `end`: its handler has done its work, and its end is not reported yet. */
export type Moment = 'start' | 'end'

export type Fault =
  | { readonly kind: 'fail'; readonly error: unknown }
  | { readonly kind: 'kill'; readonly when: Moment }
  | { readonly kind: 'freeze'; readonly when: Moment; readonly ms: number }

/** The faults that wait for a run. `target` is a task's id or a type. */
type Planned = { readonly target: string; readonly fault: Fault; readonly strikes: Strikes; left: number }

/** Calls the handlers, and does to their runs what the test asks for. */
export type HandlerServer = {
  /** The definition as the process of one run serves it. */
  serving(definition: TaskDefinition, process: WorkerProcess): TaskDefinition
  /** Strikes the next fitting runs of a task or a type. */
  plan(target: string, fault: Fault, strikes: Strikes): void
  /** The processes that run a task now. */
  processesOf(taskId: string): WorkerProcess[]
  /** From now on, runs of a task or a type last this long in virtual time. */
  last(target: string, ms: number): void
  /** Waits in virtual time, for a handler. */
  sleep(ms: number, signal: AbortSignal | undefined): Promise<void>
}

type Present = { readonly context: TaskContext; readonly process: WorkerProcess }

type Tools = { readonly timeline: Timeline; readonly activity: Activity }

export function createHandlerServer({ timeline, activity }: Tools): HandlerServer {
  const planned: Planned[] = []
  const durations = new Map<string, number>()
  const present = new Set<Present>()

  const take = (type: string, context: TaskContext): Fault | undefined => {
    const found = planned.find(one => fits(one, type, context))
    if (!found) return undefined
    found.left -= 1
    if (found.left <= 0) planned.splice(planned.indexOf(found), 1)
    return found.fault
  }
  const wait: Wait = (process, ms, signal) => activity.parked(process.clock.sleep(ms, signal))
  const call = async (definition: TaskDefinition, input: unknown, { context, process }: Present) => {
    const fault = take(definition.type, context)
    const lasts = durations.get(context.taskId) ?? durations.get(definition.type) ?? 0
    const endsAt = timeline.now() + lasts
    await strike(fault, 'start', process, wait)
    try {
      if (fault?.kind === 'fail') throw fault.error
      return await definition.run(input, context)
    } finally {
      if (endsAt > timeline.now()) await wait(process, endsAt - timeline.now(), context.signal)
      await strike(fault, 'end', process, wait)
    }
  }

  return {
    serving: (definition, process) => {
      const serve = async (input: unknown, given: TaskContext) => {
        const publish: TaskContext['publish'] = publication => activity.parked(given.publish(publication))
        const one = { context: { ...given, publish }, process }
        present.add(one)
        const ran = activity.during(given.taskId, process, () => call(definition, input, one))
        return ran.finally(() => present.delete(one))
      }
      return { ...definition, ...parsing(definition, process, activity), run: serve as TaskDefinition['run'] }
    },
    plan: (target, fault, strikes) => {
      planned.push({ target, fault, strikes, left: strikes.times ?? 1 })
    },
    processesOf: taskId =>
      [...present]
        .filter(({ context, process }) => context.taskId === taskId && process.isAlive())
        .map(({ process }) => process),
    last: (target, ms) => void durations.set(target, ms),
    sleep: async (ms, signal) => {
      const process = activity.caller()
      if (!process) throw new BatonError('refused', SLEEP_OUTSIDE)
      await wait(process, ms, signal)
    },
  }
}

const SLEEP_OUTSIDE =
  'sleep(…) is for handlers, which wait in virtual time; a test moves the time with advance(…)'

type Wait = (process: WorkerProcess, ms: number, signal?: AbortSignal) => Promise<void>

function fits({ target, strikes }: Planned, type: string, { taskId, ...context }: TaskContext): boolean {
  const { stage, step, direction } = strikes
  if (target !== taskId && target !== type && target !== context.type) return false
  if (stage !== undefined && stage !== context.stage) return false
  if (step !== undefined && step !== context.step) return false
  return direction === undefined || direction === context.direction
}

/** Kills or freezes the process of a run, if the fault says so for this moment. */
async function strike(
  fault: Fault | undefined,
  moment: Moment,
  process: WorkerProcess,
  wait: Wait,
): Promise<void> {
  if (!fault || fault.kind === 'fail' || fault.when !== moment) return
  if (fault.kind === 'freeze') {
    process.freeze(fault.ms)
    return wait(process, fault.ms)
  }
  process.kill()
  // A dead process never gets the end of a wait.
  await wait(process, Number.POSITIVE_INFINITY)
}

/** The definition's schema. Virtual time waits for a schema that does real work, too. */
function parsing(
  { type, input }: TaskDefinition,
  process: WorkerProcess,
  activity: Activity,
): Pick<TaskDefinition, 'input'> {
  if (!input) return {}
  const standard = input['~standard']
  const validate: typeof standard.validate = value => {
    const parsed = input['~standard'].validate(value)
    return parsed instanceof Promise ? activity.during(`${type} (its schema)`, process, () => parsed) : parsed
  }
  return { input: { '~standard': { ...standard, validate } } }
}
