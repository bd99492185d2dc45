import type { Problem } from '../api/problems.ts'
import type { Page } from '../api/scalars.ts'
import type { ApiTask, ListFilter } from '../api/tasks.ts'
import { defined } from '../core/defined.ts'
import type { Status } from '../core/task/lifecycle.ts'
import { listMembers } from '../runtime/canvas/list-members.ts'
import { isolateEach } from '../runtime/kernel/isolate-faults.ts'
import type { System } from '../runtime/kernel/system.ts'
import { type ListAnswer, listTasks } from '../runtime/list/list.ts'
import { areOpen, type ListOrder } from '../runtime/list/list-query.ts'
import type { StatusReaders } from '../runtime/read/describe-task.ts'
import { describeHead } from '../runtime/read/read.ts'
import { registeredNames } from '../runtime/types/registered-names.ts'
import { invalid, problem } from './problems.ts'
import { unknownType } from './refusal-problems.ts'
import { presentTask } from './tasks.ts'

const DEFAULT_LIMIT = 20

type Listed =
  | { readonly ok: true; readonly page: Page<ApiTask> }
  | { readonly ok: false; readonly problem: Problem }

/** Reads one page of a list as the API shows it, without inputs and results. The fields of `filter` are legal one by one. */
export async function listPage(system: System, readers: StatusReaders, filter: ListFilter): Promise<Listed> {
  const { type: name, userId, canvasId, status = [], limit = DEFAULT_LIMIT, cursor } = filter
  if (name === undefined && userId === undefined && canvasId === undefined) {
    const message = 'is required, unless userId or canvasId is given'
    return { ok: false, problem: invalid([{ path: 'type', message }]) }
  }
  const type = name === undefined ? undefined : await system.types.get(name)
  if (name !== undefined && !type) {
    return { ok: false, problem: unknownType(name, await registeredNames(system), 'type') }
  }
  if (canvasId !== undefined) return pageOfCanvas(system, readers, { ...filter, canvasId })
  const answer = await listTasks(system, {
    ...(type && { type }),
    ...defined({ userId, cursor }),
    statuses: status,
    order: filter.order ?? defaultOrder(userId, status),
    limit,
  })
  return presentPage(system, readers, answer)
}

/** Returns an order in which any number of tasks can be listed. */
function defaultOrder(userId: string | undefined, statuses: readonly Status[]): ListOrder {
  if (userId !== undefined) return '-created'
  return areOpen(statuses) ? 'due' : 'ended'
}

async function pageOfCanvas(
  system: System,
  readers: StatusReaders,
  filter: ListFilter & { readonly canvasId: string },
): Promise<Listed> {
  const { status = [], order = 'created', limit = DEFAULT_LIMIT, ...rest } = filter
  const answer = await listMembers(system, { ...rest, statuses: status, order, limit })
  if (answer) return presentPage(system, readers, answer)
  return { ok: false, problem: problem('not-found', `there is no canvas ${filter.canvasId}`) }
}

async function presentPage(system: System, readers: StatusReaders, answer: ListAnswer): Promise<Listed> {
  if (!answer.ok) return { ok: false, problem: invalid([answer.problem]) }
  const { tasks, nextCursor } = answer
  const items = await isolateEach(system, tasks, tasks.length, async task =>
    presentTask(await describeHead(system, readers, task, true)),
  )
  return { ok: true, page: { items, ...(nextCursor !== undefined && { nextCursor }) } }
}
