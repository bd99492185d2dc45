import { editsOf } from '../../../shared/core/change.ts'
import { statusOf } from '../../../shared/core/status.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import { startPurge } from '../../../shared/runtime/jobs/sweep-purges.ts'
import { readTask as readHead } from '../../../shared/runtime/kernel/heads.ts'
import type { PlanningSystem } from '../../../shared/runtime/kernel/system.ts'
import { listTasks } from '../../../shared/runtime/list/list.ts'
import { countTasks } from '../../../shared/runtime/list/list-query.ts'
import {
  cancelTask,
  removeTask,
  restartTask,
  resumeTask,
  retryCallbacks,
} from '../../../shared/runtime/operate/operate.ts'
import { patchTask } from '../../../shared/runtime/operate/patch-task.ts'
import { publish } from '../../../shared/runtime/publish/publish.ts'
import { readTask } from '../../../shared/runtime/read/read.ts'
import { pauseType, putType, removeHandler, resumeType } from '../../../shared/runtime/types/types.ts'
import type { BoundRequest } from '../bounds/bound-request.ts'
import { boundRequests } from '../bounds/bounds.ts'
import { createDice } from '../generate/dice.ts'
import type { Step } from '../scenario.ts'
import { type Api, NoAnswer } from '../world/aws/api.ts'
import { limitsIn, liveWorkersIn, typesIn } from '../world/caches.ts'
import type { DamageName } from '../world/damage.ts'
import type { Answer, Question } from '../world/history.ts'
import { createProcess, type Process } from '../world/process.ts'
import type { World } from '../world/world.ts'
import { askRoute } from './api-routes.ts'
import { operateCanvas } from './canvas-steps.ts'
import { configurationOf, deployFlow, deployType, moveType } from './deployments.ts'
import type { Host } from './host.ts'
import { type CheckOutcome, checkRequest } from './request-checks.ts'
import { requestOfStep } from './requests.ts'
import { operateSchedule } from './schedule-steps.ts'

/** What a step may need besides the system that it is sent to. */
export type StepContext = {
  readonly api: Api
  readonly hosts: ReadonlyMap<string, Host>
  /** Removes the queue of a type and its consumer, and creates both again after `forMs`. */
  readonly withdraw: (type: string, forMs: number) => void
  /** Creates or removes the queue of a type, with its Lambda. */
  readonly serveBy: (type: string, servedBy: 'lambda' | 'http') => void
  /** Records what the API found in a request. */
  readonly record: (request: BoundRequest, outcome: CheckOutcome) => void
  /** Gives a stored head a form that the code cannot read. */
  readonly damage: (id: string, how: DamageName) => boolean
  /** Called when a step is over, and its caller has its answer or has died. */
  readonly done: () => void
}

const PAUSE_MS = 1_000
/** A caller without an answer sends its request at most this often. */
const TRIES_MAX = 6

/** Does a step. The answer to a caller is recorded in the history. */
export function perform(world: World, context: StepContext, step: Step): void {
  if ('workerId' in step) {
    const host = context.hosts.get(step.workerId)
    if (host) disturb(host, step)
    context.done()
  } else if (step.do === 'damage') {
    const { id, how } = step
    if (context.damage(id, how))
      world.history.record({ at: world.timeline.now(), by: 'another program', what: 'damaged', id, how })
    context.done()
  } else {
    ask(world, context, step)
  }
}

function disturb(host: Host, step: Extract<Step, { readonly workerId: string }>): void {
  switch (step.do) {
    case 'kill-worker':
      host.kill(step.backAfterMs)
      break
    case 'freeze-worker':
      host.freeze(step.forMs)
      break
    case 'stop-worker':
      host.stop(step.drainMs, step.backAfterMs)
      break
    case 'resize-worker':
      host.resize(step.concurrency)
      break
  }
}

type Request = Exclude<Step, { readonly workerId: string } | { readonly do: 'damage' }>

function ask(world: World, context: StepContext, step: Request): void {
  const client = createProcess(world, `caller at ${step.at}`)
  client.onDeath(context.done)
  const answered =
    step.do === 'ask' ? askApi(world, context, step, client) : untilAnswered(world, context, step, client)
  void answered.then(() => client.kill('has its answer'))
}

/** Asks the API as it is deployed, which answers errors by a problem document. The answer is recorded for the invariants. */
async function askApi(
  { timeline, history }: World,
  { api }: StepContext,
  { operation, id }: Extract<Step, { readonly do: 'ask' }>,
  client: Process,
): Promise<void> {
  const from = timeline.now()
  const isList = operation === 'list'
  const question: Question = {
    operation,
    params: isList ? {} : { id },
    query: isList ? { type: [id.slice(0, id.indexOf(':'))], limit: 100 } : {},
  }
  const answer = await api.request(client, operation, (system, workers) =>
    askRoute(system, workers, question),
  )
  history.record({ at: timeline.now(), by: client.name, what: 'read', from, ...question, ...answer })
}

/** Repeats a request until it is answered, as a careful caller does. Every operation may be repeated. */
async function untilAnswered(
  world: World,
  context: StepContext,
  step: Exclude<Request, { readonly do: 'ask' }>,
  client: Process,
): Promise<void> {
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    try {
      const answer = await context.api.request(client, step.do, system => operate(system, context, step))
      world.history.record({ at: world.timeline.now(), by: client.name, what: 'answer', step, answer })
      return
    } catch (error) {
      if (!(error instanceof NoAnswer)) throw error
      await client.clock.sleep(PAUSE_MS)
    }
  }
}

async function operate(
  system: PlanningSystem,
  context: StepContext,
  step: Exclude<Request, { readonly do: 'ask' }>,
): Promise<Answer> {
  if ('canvas' in step) return operateCanvas(system, step)
  if ('schedule' in step) return operateSchedule(system, step)
  switch (step.do) {
    case 'publish':
      return publish(system, requestOfStep(step))
    case 'cancel':
      return cancelTask(system, step.id)
    case 'remove':
      return removeTask(system, step.id)
    case 'restart':
      return restartTask(system, step.id, step.clean)
    case 'resume':
      return resume(system, step)
    case 'patch':
      return patchTask(system, step.id, step.changes)
    case 'read':
      return read(system, step.id)
    case 'retry-callbacks':
      return retryCallbacks(system, step.id)
    case 'edit':
      return edit(system, step)
    case 'check-requests':
      return checkRequests(system, context, step)
    case 'list':
      return list(system, step)
    case 'purge':
      return purge(system, step)
    case 'deploy':
      await deployType(system, step)
      return { ok: true }
    case 'put-type':
      return put(system, step)
    case 'move-type':
      context.serveBy(step.type, step.servedBy)
      await moveType(system, step)
      return { ok: true }
    case 'pause-type':
      return answerOfType(await pauseType(inNameOfOperator(system, 'pause'), step.type))
    case 'resume-type':
      return answerOfType(await resumeType(inNameOfOperator(system, 'resume'), step.type))
    case 'deploy-flow':
      await deployFlow(system, step.flow)
      return { ok: true }
    case 'withdraw':
      await removeHandler(system, step.type)
      context.withdraw(step.type, step.forMs)
      return { ok: true }
  }
}

/** Sets a type through the API. A type that has more shards by now is refused. */
async function put(
  system: PlanningSystem,
  step: Extract<Step, { readonly do: 'deploy' | 'put-type' }>,
): Promise<Answer> {
  const { shards: _shards, ...configuration } = configurationOf(step)
  const { ok } = await putType(system, step.type, configuration)
  return ok ? { ok } : { ok, reason: 'fewer shards' }
}

/** The system of a request that the API records under this name. */
function inNameOfOperator(system: PlanningSystem, what: string): PlanningSystem {
  return { ...system, operator: { by: 'an operator', what } }
}

function answerOfType(outcome: Awaited<ReturnType<typeof pauseType>>): Answer {
  return outcome.ok ? { ok: true } : { ok: false, reason: outcome.reason }
}

async function resume(
  system: PlanningSystem,
  { id, actions }: Extract<Step, { readonly do: 'resume' }>,
): Promise<Answer> {
  for (const action of actions) {
    const answer = await resumeTask(inNameOfOperator(system, action), id, action)
    if (answer.ok) return answer
  }
  return { ok: false, reason: 'none of these actions is possible' }
}

/** Changes the task on the condition that it has still the revision that was read. */
async function edit(
  system: PlanningSystem,
  { at, id, afterMs, priority }: Extract<Step, { readonly do: 'edit' }>,
): Promise<Answer> {
  const head = await readHead(system, id)
  if (!head) return { ok: false, reason: 'unknown' }
  await system.clock.sleep(afterMs)
  const seen = editsOf(head)
  const edited = { ...system, operator: { by: editorAt(at) } }
  const answer = await patchTask(edited, id, { priority }, { ifRevision: seen })
  return answer.ok ? { ...answer, seen } : answer
}

/** The name by which the task records an edit. */
export function editorAt(at: number): string {
  return `editor at ${at}`
}

/** Lets the API check requests. What it finds is recorded. */
async function checkRequests(
  system: PlanningSystem,
  { record }: StepContext,
  { bounds }: Extract<Step, { readonly do: 'check-requests' }>,
): Promise<Answer> {
  for (const request of boundRequests(createDice(system.chance), bounds)) {
    record(request, checkRequest(request, system.clock.now()))
  }
  return { ok: true }
}

async function purge(
  system: PlanningSystem,
  { type, statuses }: Extract<Step, { readonly do: 'purge' }>,
): Promise<Answer> {
  const askedAt = system.clock.now()
  return startPurge(system, type, { statuses, before: askedAt, askedAt })
}

async function read(system: PlanningSystem, id: string): Promise<Answer> {
  const description = await readTask(
    system,
    {
      typeOf: typesIn(system),
      liveWorkers: liveWorkersIn(system),
      limitHolding: limitsIn(system),
    },
    id,
  )
  return description ? { ok: true, task: description.task } : { ok: false, reason: 'unknown' }
}

/** @throws Error when a task is listed that does not have the status that was asked for. */
async function list(
  system: PlanningSystem,
  { type: name, status }: Extract<Step, { readonly do: 'list' }>,
): Promise<Answer> {
  const type = await system.types.get(name)
  if (!type) return { ok: false, reason: 'unknown' }
  const begunAt = system.clock.now()
  const answer = await listTasks(system, { types: [type], statuses: [status], order: 'due', limit: 100 })
  if (!answer.ok) return { ok: false, reason: answer.problem.message }
  const now = system.clock.now()
  const hasStatus = (task: Task) => [begunAt, now].some(time => statusOf(task, time) === status)
  const wrong = answer.tasks.find(task => task.type !== name || !hasStatus(task))
  if (wrong) throw new Error(`${wrong.id} is listed as ${status} of ${name}`)
  await countTasks(system, type)
  return { ok: true }
}
