import type { Problem } from '../api/problems.ts'
import type { PublishBody } from '../api/publish.ts'
import type { TransactEntry } from '../aws/dynamo/head/transact-entries.ts'
import { HEAD_SORT_KEY } from '../aws/dynamo/keys.ts'
import type { TableSystem } from '../aws/system.ts'
import { ProblemError } from '../client/problem-error.ts'
import { joinPath } from '../core/rules/rules.ts'
import { splitTaskId, taskId } from '../core/task/task.ts'
import type { FieldProblem } from '../core/values/values.ts'
import { bodyOf, inputProblems, isCanvas, type Publishable } from '../define/publishable.ts'
import { preparePublishes } from '../runtime/publish/decide-publish.ts'
import type { PublishRequest } from '../runtime/publish/resolve-publication.ts'
import { invalid, publishProblem } from '../service/present/problems.ts'
import { readPublish } from '../service/requests/publish-requests.ts'

/** What decides on the task that has the key. The caller's transaction cannot read that task. */
const UNDECIDABLE = {
  debounce: 'cannot be part of a transaction, which cannot read the task of the key: use publish',
  throttle: 'cannot be part of a transaction, which cannot read the task of the key: use publish',
} as const

/**
 * Makes the entries of one publish, or of several. All of them are checked before the first one is prepared.
 *
 * @throws ProblemError when a publish is refused. Nothing is written then.
 */
export async function makeTransactItems(
  { system, entriesOf }: TableSystem,
  what: Publishable | readonly Publishable[],
  given: readonly unknown[],
): Promise<TransactEntry[]> {
  const [all, pathOf] = Array.isArray(what)
    ? [what as readonly Publishable[], (index: number) => String(index)]
    : [[what as Publishable], () => '']
  const now = system.clock.now()
  const bodies: PublishBody[] = []
  const requests: PublishRequest[] = []
  for (const [index, one] of all.entries()) {
    const at = pathOf(index)
    const read = readPublish(await publishBodyOf(one, given, at), now, { at })
    if (!read.ok) throw refusal(read.problem)
    bodies.push(read.body)
    requests.push(read.request)
  }
  refuse([
    ...bodies.flatMap((body, index) => undecidableFields(body, pathOf(index))),
    ...repeatedKeys(bodies, pathOf),
  ])
  const prepared = await preparePublishes(system, requests)
  if (!prepared.ok) throw refusal(publishProblem(prepared.refusal, '', pathOf(prepared.index)))
  return (await Promise.all(prepared.changes.map(entriesOf))).flat()
}

function undecidableFields(body: PublishBody, at: string): FieldProblem[] {
  const { ifExists } = body
  const fields = (['debounce', 'throttle'] as const).filter(name => body[name] !== undefined)
  const path = joinPath(at, ['ifExists'])
  return [
    ...(ifExists === undefined || ifExists === 'reject'
      ? []
      : [{ path, message: `is "${ifExists}"; a transaction takes "reject" only, or none` }]),
    ...fields.map(name => ({ path: joinPath(at, [name]), message: UNDECIDABLE[name] })),
  ]
}

/** DynamoDB refuses a transaction that writes one item twice, without saying which task it is. */
function repeatedKeys(bodies: readonly PublishBody[], pathOf: (index: number) => string): FieldProblem[] {
  const firsts = new Map<string, number>()
  return bodies.flatMap(({ type, key }, index) => {
    if (key === undefined) return []
    const id = taskId(type, key)
    const first = firsts.get(id)
    firsts.set(id, first ?? index)
    const message = `names ${id}, as entry ${first} does; a transaction publishes each task once`
    return first === undefined ? [] : [{ path: joinPath(pathOf(index), ['key']), message }]
  })
}

/**
 * The body of a publish as JSON text brings it. `at` is the path of the body in the call.
 *
 * @throws ProblemError for a canvas, for an input that does not fit its definition, and for what JSON cannot hold
 */
export async function publishBodyOf(what: Publishable, given: readonly unknown[], at = ''): Promise<unknown> {
  refuse(canvasProblems(what, at))
  const body = asSent(bodyOf(what, given), at)
  if (typeof what === 'object' && 'kind' in what)
    refuse((await inputProblems(what.input, given[0], joinPath(at, ['input']))) ?? [])
  return body
}

/** @throws ProblemError unless there are no problems */
function refuse(problems: readonly FieldProblem[]): void {
  if (problems.length > 0) throw refusal(invalid(problems))
}

function refusal(problem: Problem): ProblemError {
  return new ProblemError(problem)
}

function asSent(body: object, path: string): unknown {
  try {
    return JSON.parse(JSON.stringify(body))
  } catch (error) {
    throw refusal(invalid([{ path, message: `is not JSON: ${(error as Error).message}` }]))
  }
}

function canvasProblems(what: Publishable, path: string): FieldProblem[] {
  return isCanvas(what)
    ? [{ path, message: 'is a canvas, which only the client of the HTTP API publishes' }]
    : []
}

/** The task for whose sake a transaction was cancelled. */
export type ExistingTask = {
  /** The id of the task, `type:key`. */
  readonly id: string
  /** The position of the task's head in `TransactItems`, from 0. */
  readonly position: number
  /** Whether the task was removed. Its key stays taken for 15 days after that, so that nothing of the removed task can touch a new one. */
  readonly isRemoved: boolean
}

/**
 * Says whether a transaction was cancelled because a task that it publishes exists already, and which one. Undefined for every other
 * error. When several tasks exist, it names the first one.
 *
 * ```ts
 * const existing = taskAlreadyExists(error)
 * if (!existing) throw error
 * ```
 */
export function taskAlreadyExists(error: unknown): ExistingTask | undefined {
  const { name, CancellationReasons: reasons } = Object(error) as Cancellation
  if (name !== 'TransactionCanceledException' || !Array.isArray(reasons)) return undefined
  for (const [position, reason] of reasons.entries()) {
    const found = existingTaskIn(reason)
    if (found) return { ...found, position }
  }
  return undefined
}

type Reason = { readonly Code?: string; readonly Item?: Readonly<Record<string, unknown>> }

type Cancellation = { readonly name?: unknown; readonly CancellationReasons?: readonly Reason[] }

/** The head that refused an entry. Each entry of a head asks DynamoDB for the item that refuses it. */
function existingTaskIn({ Code, Item = {} }: Reason): Omit<ExistingTask, 'position'> | undefined {
  const id = textOf(Item.pk)
  const isHead = textOf(Item.sk) === HEAD_SORT_KEY && textOf(Item.born) !== undefined
  if (Code !== 'ConditionalCheckFailed' || !isHead || id === undefined || !splitTaskId(id)) return undefined
  return { id, isRemoved: textOf(Item.state) === 'removed' }
}

/** A text as errors of the SDK carry it, or as a document client might. */
function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  const { S: text } = Object(value) as { readonly S?: unknown }
  return typeof text === 'string' ? text : undefined
}
