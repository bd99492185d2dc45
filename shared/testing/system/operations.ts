import type { ApiCanvas } from '../../api/canvases.ts'
import type { PatchBody, RetryTaskBody } from '../../api/changes.ts'
import type { ExpectedRevision, PageQuery } from '../../api/scalars.ts'
import type { ApiSchedule, ScheduleBody } from '../../api/schedules.ts'
import type { ApiTask } from '../../api/tasks.ts'
import { ProblemError } from '../../client/problem-error.ts'
import { defined } from '../../core/defined.ts'
import { SCHEDULE_TYPE } from '../../core/task/schedule-state.ts'
import { taskId } from '../../core/task/task.ts'
import { iso } from '../../present/iso.ts'
import { invalid, problem } from '../../present/problems.ts'
import {
  operationProblem,
  publishProblem,
  staleProblem,
  unknownType,
  unknownTypes,
} from '../../present/refusal-problems.ts'
import { presentSchedule } from '../../present/schedules.ts'
import { presentTask } from '../../present/tasks.ts'
import { presentPaused } from '../../present/types.ts'
import { bodyProblems } from '../../requests/body-rules.ts'
import { fieldProblems, patchRequestOf, sizeProblem } from '../../requests/publish-requests.ts'
import { scheduleRequestOf } from '../../requests/schedule-requests.ts'
import { cancelCanvas } from '../../runtime/canvas/cancel-members.ts'
import { readCanvas } from '../../runtime/canvas/describe-canvas.ts'
import type { System } from '../../runtime/kernel/system.ts'
import {
  cancelTask,
  removeTask,
  restartTask,
  resumeTask,
  retryCallbacks,
} from '../../runtime/operate/operate.ts'
import { patchTask } from '../../runtime/operate/patch-task.ts'
import type { StatusReaders } from '../../runtime/read/describe-task.ts'
import { describeHead } from '../../runtime/read/read.ts'
import {
  pauseSchedule,
  removeSchedule,
  resumeSchedule,
  triggerSchedule,
} from '../../runtime/schedule/operate-schedule.ts'
import { readSchedule } from '../../runtime/schedule/read-schedules.ts'
import { putSchedule } from '../../runtime/schedule/schedule.ts'
import { pauseType, resumeType } from '../../runtime/types/pause-type.ts'
import { registeredNames } from '../../runtime/types/registered-names.ts'

/*
 * The operations of the HTTP API on a system in memory: the same use cases, answers and refusals.
 */

/** The name under which the operations of a test are recorded. */
const OPERATOR = 'test'

type Refusal = Parameters<typeof operationProblem>[1]
type Operated = Parameters<typeof describeHead>[2]

export function createOperations(plain: System, readers: StatusReaders) {
  const by = (what: string): System => ({ ...plain, operator: { by: OPERATOR, what } })
  const shown = async (
    id: string,
    outcome: { readonly ok: true; readonly task: Operated } | Refusal,
  ): Promise<ApiTask> => {
    if (!outcome.ok) throw new ProblemError(operationProblem(id, outcome))
    return presentTask(await describeHead(plain, readers, outcome.task))
  }
  return {
    cancel: async (id: string, expected: ExpectedRevision = {}) =>
      shown(id, await cancelTask(by('cancel'), id, expected)),
    remove: async (id: string, expected: ExpectedRevision = {}) => {
      const outcome = await removeTask(plain, id, expected)
      if (!outcome.ok) throw new ProblemError(operationProblem(id, outcome))
    },
    retry: async (id: string, { action = 'restart', clean, ...expected }: RetryTaskBody = {}) => {
      const system = by(action === 'restart' ? 'retry' : action)
      if (action === 'restart') return shown(id, await restartTask(system, id, clean, expected))
      if (clean) throw refusedField('clean', 'is for action "restart" only')
      return shown(
        id,
        await (action === 'retry-callbacks'
          ? retryCallbacks(system, id, expected)
          : resumeTask(system, id, action, expected)),
      )
    },
    patch: async (id: string, given: PatchBody) => {
      const body = JSON.parse(JSON.stringify(given)) as PatchBody
      const problems = [...bodyProblems('patch', body), ...fieldProblems(body, plain.clock.now())]
      if (problems.length > 0) throw new ProblemError(invalid(problems))
      const tooLarge = sizeProblem(body.input, 'input')
      if (tooLarge) throw new ProblemError(invalid([tooLarge], 'too-large'))
      const outcome = await patchTask(by('patch'), id, patchRequestOf(body), body)
      if (!outcome.ok && outcome.reason === 'invalid') throw new ProblemError(invalid(outcome.problems))
      return shown(id, outcome)
    },
    pause: async (type: string, expected: ExpectedRevision = {}) =>
      paused(plain, type, await pauseType(by('pause'), type, expected)),
    resume: async (type: string, expected: ExpectedRevision = {}) =>
      paused(plain, type, await resumeType(by('resume'), type, expected)),
    canvas: (id: string, page: PageQuery = {}) => canvas(plain, id, page),
    cancelCanvas: async (id: string) => {
      const outcome = await cancelCanvas(plain, id)
      if (outcome.ok || outcome.reason === 'unknown') return canvas(plain, id, {})
      const detail = `${id} has ended as ${outcome.task.state}; only a running canvas can be cancelled`
      throw new ProblemError(problem('conflict', detail))
    },
    ...createScheduleOperations(plain, by),
  }
}

function refusedField(path: string, message: string): ProblemError {
  return new ProblemError(invalid([{ path, message }]))
}

async function paused(system: System, type: string, outcome: Awaited<ReturnType<typeof pauseType>>) {
  if (outcome.ok) return presentPaused(outcome.type)
  if (outcome.reason === 'stale') throw new ProblemError(staleProblem(type, outcome.type))
  throw new ProblemError(unknownType(type, await registeredNames(system), 'type'))
}

const CANVAS_MEMBERS_SHOWN = 100

async function canvas(
  system: System,
  id: string,
  { limit = CANVAS_MEMBERS_SHOWN, cursor }: PageQuery,
): Promise<ApiCanvas> {
  const read = await readCanvas(system, id, { limit, ...defined({ cursor }) })
  if (!read.ok && read.reason === 'strange-cursor')
    throw refusedField('cursor', 'is not a cursor of this canvas')
  if (!read.ok) throw new ProblemError(problem('not-found', `there is no canvas ${id}`))
  const { head, ...shown } = read.canvas
  const finishedAt = head.finishedAt === undefined ? {} : { finishedAt: iso(head.finishedAt) }
  return { id, ...shown, items: [...shown.items], createdAt: iso(head.createdAt), ...finishedAt }
}

function createScheduleOperations(plain: System, by: (what: string) => System) {
  const idOf = (name: string) => taskId(SCHEDULE_TYPE, name)
  const unknown = (name: string) => new ProblemError(problem('not-found', `there is no schedule ${name}`))
  const read = async (name: string): Promise<ApiSchedule> => {
    const found = await readSchedule(plain, idOf(name))
    if (!found) throw unknown(name)
    return presentSchedule(found)
  }
  const change = async (name: string, changing: ReturnType<typeof pauseSchedule>) => {
    const outcome = await changing
    if (outcome.ok) return read(name)
    if (outcome.reason === 'unknown') throw unknown(name)
    if (outcome.reason === 'stale') throw new ProblemError(staleProblem(name, outcome.task))
    throw new ProblemError(
      problem('conflict', `${name} has had its last tick; set it again to give it new ticks`),
    )
  }
  return {
    schedule: async (name: string, given?: ScheduleBody) => {
      if (given) await put(by('put'), name, given)
      return read(name)
    },
    removeSchedule: async (name: string, expected: ExpectedRevision = {}) => {
      const outcome = await removeSchedule(plain, idOf(name), expected)
      if (outcome.ok) return
      if (outcome.reason === 'stale') throw new ProblemError(staleProblem(name, outcome.task))
      throw unknown(name)
    },
    pauseSchedule: (name: string, expected: ExpectedRevision = {}) =>
      change(name, pauseSchedule(by('pause'), idOf(name), expected)),
    resumeSchedule: (name: string, expected: ExpectedRevision = {}) =>
      change(name, resumeSchedule(by('resume'), idOf(name), expected)),
    triggerSchedule: async (name: string) => {
      const outcome = await triggerSchedule(by('trigger'), idOf(name))
      if (outcome.ok) return { taskId: outcome.task.id }
      if (outcome.reason === 'unknown') throw unknown(name)
      throw new ProblemError(publishProblem(outcome.outcome, 'test', 'task'))
    },
  }
}

async function put(system: System, name: string, given: ScheduleBody): Promise<void> {
  const body = JSON.parse(JSON.stringify(given)) as ScheduleBody
  const problems = bodyProblems('schedule', body)
  if (problems.length > 0) throw new ProblemError(invalid(problems))
  const asked = scheduleRequestOf(name, body, system.clock.now())
  if (!asked.ok) throw new ProblemError(invalid(asked.problems, asked.kind))
  const outcome = await putSchedule(system, name, asked.request, body)
  if (outcome.ok) return
  if (outcome.reason === 'invalid') throw new ProblemError(invalid(outcome.problems))
  if (outcome.reason === 'stale') throw new ProblemError(staleProblem(name, outcome.task))
  throw new ProblemError(unknownTypes(outcome.unknown, outcome.existing))
}
