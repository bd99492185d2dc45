import type { PublishBody } from '../api/publish.ts'
import type { TransactEntry } from '../aws/dynamo/head/transact-entry.ts'
import type { TableSystem } from '../aws/table-system.ts'
import type { FieldProblem } from '../core/errors.ts'
import { joinPath } from '../core/rules/rules.ts'
import { taskId } from '../core/task/task.ts'
import type { Publishable } from '../define/publishable.ts'
import { preparePublishes } from '../runtime/publish/decide-publish.ts'
import type { PublishRequest } from '../runtime/publish/resolve-publication.ts'
import { publishProblem } from '../service/present/refusal-problems.ts'
import { readPublish } from '../service/requests/publish-requests.ts'
import { publishBodyOf, refusal, refuse } from './publish-bodies.ts'

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
