import type { Problem } from '../../api/problems.ts'
import type { Page } from '../../api/scalars.ts'
import type { ApiTask, ListQuery } from '../../api/tasks.ts'
import type { FieldProblem } from '../../core/errors.ts'
import type { Status } from '../../core/task/lifecycle.ts'
import { defined } from '../../core/values/defined.ts'
import { listMembers } from '../../runtime/canvas/list-members.ts'
import { isolateEach } from '../../runtime/kernel/isolate-faults.ts'
import type { System } from '../../runtime/kernel/system.ts'
import { type ListAnswer, listTasks } from '../../runtime/list/list.ts'
import type { ListFilter } from '../../runtime/list/list-filter.ts'
import { areOpen, type ListOrder } from '../../runtime/list/list-query.ts'
import type { StatusReaders } from '../../runtime/read/describe-task.ts'
import { describeHead } from '../../runtime/read/read.ts'
import { registeredNames } from '../../runtime/types/registered-names.ts'
import { invalid, problem } from './problems.ts'
import { unknownTypes } from './refusal-problems.ts'
import { presentTask } from './tasks.ts'

const DEFAULT_LIMIT = 20

type Listed =
  | { readonly ok: true; readonly page: Page<ApiTask> }
  | { readonly ok: false; readonly problem: Problem }

/** Reads one page of a list as the API shows it, without inputs and results. The fields of `filter` are legal one by one. */
export async function listPage(system: System, readers: StatusReaders, filter: ListQuery): Promise<Listed> {
  const { userId, canvasId, status = [], limit = DEFAULT_LIMIT, cursor } = filter
  const problems = listProblems(filter)
  if (problems.length > 0) return { ok: false, problem: invalid(problems) }
  const names = [...new Set(filter.type)].sort()
  const found = await Promise.all(names.map(name => system.types.get(name)))
  const unknown = names.filter((_name, index) => !found[index]).map(type => ({ type, path: 'type' }))
  if (unknown.length > 0) return { ok: false, problem: unknownTypes(unknown, await registeredNames(system)) }
  if (canvasId !== undefined) return pageOfCanvas(system, readers, { ...filter, canvasId }, names)
  const answer = await listTasks(system, {
    types: found.filter(type => type !== undefined),
    ...defined({ userId, cursor }),
    ...narrowing(filter),
    statuses: status,
    order: filter.order ?? defaultOrder(userId, status),
    limit,
  })
  return presentPage(system, readers, answer)
}

function listProblems({ type = [], userId, canvasId, since, until }: ListQuery): FieldProblem[] {
  const isAnywhere = type.length === 0 && userId === undefined && canvasId === undefined
  const isEmpty = since !== undefined && until !== undefined && Date.parse(since) >= Date.parse(until)
  return [
    ...(isAnywhere ? [{ path: 'type', message: 'is required, unless userId or canvasId is given' }] : []),
    ...(isEmpty ? [{ path: 'until', message: `must be later than since, which is ${since}` }] : []),
  ]
}

function narrowing({ since, until, tag, error }: ListQuery): ListFilter {
  const timeIn = (text: string | undefined) => (text === undefined ? undefined : Date.parse(text))
  return defined({ since: timeIn(since), until: timeIn(until), tags: tag, error })
}

/** Returns an order in which any number of tasks can be listed. */
function defaultOrder(userId: string | undefined, statuses: readonly Status[]): ListOrder {
  if (userId !== undefined) return '-created'
  return areOpen(statuses) ? 'due' : 'ended'
}

async function pageOfCanvas(
  system: System,
  readers: StatusReaders,
  filter: ListQuery & { readonly canvasId: string },
  types: readonly string[],
): Promise<Listed> {
  const { canvasId, status: statuses = [], order = 'created', limit = DEFAULT_LIMIT, userId, cursor } = filter
  const asked = { canvasId, types, statuses, order, limit, ...defined({ userId, cursor }) }
  const answer = await listMembers(system, { ...asked, ...narrowing(filter) })
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
