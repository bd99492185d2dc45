import { BatonError } from '../../core/values/values.ts'
import type { RunContext, TaskDefinition } from '../../define/definitions.ts'
import type { Log } from '../../ports/machine.ts'
import type { Activity, Sandbox } from './sandbox.ts'
import type { Timeline } from './timeline.ts'

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
  serving(definition: TaskDefinition, sandbox: Sandbox): TaskDefinition
  /** Strikes the next fitting runs of a task or a type. */
  plan(target: string, fault: Fault, strikes: Strikes): void
  /** The processes that run a task now. */
  processesOf(taskId: string): Sandbox[]
  /** From now on, runs of a task or a type last this long in virtual time. */
  last(target: string, ms: number): void
  /** Whether the line that is being logged now comes from a handler, and not from the system. */
  isLogging(): boolean
  /** Waits in virtual time, for a handler. */
  sleep(ms: number, signal: AbortSignal | undefined): Promise<void>
}

type Server = {
  readonly timeline: Timeline
  readonly activity: Activity
  readonly planned: Planned[]
  /** How long runs last, by the id of their task or by a type. */
  readonly durations: Map<string, number>
  readonly present: Set<Run>
  isLogging: boolean
}

type Run = {
  readonly server: Server
  readonly sandbox: Sandbox
  readonly definition: TaskDefinition
  readonly context: RunContext
}

export function createHandlerServer(tools: Pick<Server, 'timeline' | 'activity'>): HandlerServer {
  const server: Server = {
    ...tools,
    ...{ planned: [], durations: new Map(), present: new Set(), isLogging: false },
  }
  const { activity, planned, durations, present } = server
  return {
    serving: (definition, sandbox) => {
      const run = (input: unknown, context: RunContext) =>
        serve({ server, sandbox, definition, context: watched(server, context) }, input)
      return { ...definition, ...parsing(definition, sandbox, activity), run: run as TaskDefinition['run'] }
    },
    plan: (target, fault, strikes) => {
      planned.push({ target, fault, strikes, left: strikes.times ?? 1 })
    },
    processesOf: taskId =>
      [...present]
        .filter(({ context, sandbox }) => context.taskId === taskId && sandbox.isAlive())
        .map(({ sandbox }) => sandbox),
    last: (target, ms) => void durations.set(target, ms),
    isLogging: () => server.isLogging,
    sleep: async (ms, signal) => {
      const sandbox = activity.caller()
      if (!sandbox) throw new BatonError('refused', SLEEP_OUTSIDE)
      await wait({ server, sandbox }, ms, signal)
    },
  }
}

function serve(run: Run, input: unknown): Promise<unknown> {
  const { present, activity } = run.server
  present.add(run)
  return activity
    .during(run.context.taskId, run.sandbox, () => call(run, input))
    .finally(() => present.delete(run))
}

/** Calls the handler, strikes its run with the fault that waits for it, and lets it last as long as the test says. */
async function call(run: Run, input: unknown): Promise<unknown> {
  const { definition, context } = run
  const { timeline, durations } = run.server
  const { taskId, type, signal } = context
  const fault = takeFault(run)
  const lasts = durations.get(taskId) ?? durations.get(definition.type) ?? durations.get(type) ?? 0
  const endsAt = timeline.now() + lasts
  await strike(run, fault, 'start')
  try {
    if (fault?.kind === 'fail') throw fault.error
    return await definition.run(input, context)
  } finally {
    if (endsAt > timeline.now()) await wait(run, endsAt - timeline.now(), signal)
    await strike(run, fault, 'end')
  }
}

/** The context, whose log marks its lines, and whose publishes take virtual time. */
function watched(server: Server, context: RunContext): RunContext {
  const marked =
    (level: keyof Log): Log['info'] =>
    (message, fields) => {
      server.isLogging = true
      try {
        context.log[level](message, fields)
      } finally {
        server.isLogging = false
      }
    }
  return {
    ...context,
    publish: publication => server.activity.parked(context.publish(publication)),
    log: { debug: marked('debug'), info: marked('info'), warn: marked('warn'), error: marked('error') },
  }
}

function takeFault({ server: { planned }, definition, context }: Run): Fault | undefined {
  const found = planned.find(one => fits(one, definition.type, context))
  if (!found) return undefined
  found.left -= 1
  if (found.left <= 0) planned.splice(planned.indexOf(found), 1)
  return found.fault
}

function wait({ server, sandbox }: Omit<Run, 'definition' | 'context'>, ms: number, signal?: AbortSignal) {
  return server.activity.parked(sandbox.clock.sleep(ms, signal))
}

const SLEEP_OUTSIDE =
  'sleep(…) is for handlers, which wait in virtual time; a test moves the time with advance(…)'

function fits({ target, strikes }: Planned, type: string, { taskId, ...context }: RunContext): boolean {
  const { stage, step, direction } = strikes
  if (target !== taskId && target !== type && target !== context.type) return false
  if (stage !== undefined && stage !== context.stage) return false
  if (step !== undefined && step !== context.step) return false
  return direction === undefined || direction === context.direction
}

/** Kills or freezes the process of a run, if the fault says so for this moment. */
async function strike(run: Run, fault: Fault | undefined, moment: Moment): Promise<void> {
  if (!fault || fault.kind === 'fail' || fault.when !== moment) return
  if (fault.kind === 'freeze') {
    run.sandbox.freeze(fault.ms)
    return wait(run, fault.ms)
  }
  run.sandbox.kill()
  // A dead process never gets the end of a wait.
  await wait(run, Number.POSITIVE_INFINITY)
}

/** The definition's schema. Virtual time waits for a schema that does real work, too. */
function parsing(
  { type, input }: TaskDefinition,
  sandbox: Sandbox,
  activity: Activity,
): Pick<TaskDefinition, 'input'> {
  if (!input) return {}
  const standard = input['~standard']
  const validate: typeof standard.validate = value => {
    const parsed = input['~standard'].validate(value)
    return parsed instanceof Promise ? activity.during(`${type} (its schema)`, sandbox, () => parsed) : parsed
  }
  return { input: { '~standard': { ...standard, validate } } }
}
