/**
 * The client of programs that reach the table of a system by a role of their own, in the account and the region of the system. It does
 * what the HTTP API does, by the same use cases, without a request to the API.
 *
 * Its reason is `transactItems`. A program that stores an order and publishes a task makes two writes. When it dies between them, the
 * order has no task, or the task has no order. `transactItems` makes the entries that create the task, and the program sends them
 * within its own transaction. So the task exists if and only if the order does. The planner reads the new head from the table's
 * stream as any other, and does the rest. No outbox is needed.
 *
 * `transact-items.ts` makes the body of a publish and the entries of a transaction, and explains a cancelled transaction.
 *
 * What can go wrong with entries, and why it does no harm:
 *
 * - The transaction is cancelled, or never sent. The bodies of the task are entries of the transaction, so nothing of the task is
 *   stored. A tenant has lost a turn, and stored steps of a flow stay for the next flow.
 * - The transaction is sent later than its entries were made. Due time and place are from the time when the entries were made. The planner plans by the
 *   time at which it reads the head, so a task that has fallen due meanwhile is dispatched at once.
 * - The head is visible before its input, since DynamoDB shows the items of a transaction one by one. A run that misses the input is
 *   given back (`publishedBody` in `runtime/kernel/heads.ts`).
 */

import { targetOf } from '../api/endpoints.ts'
import type { PublishAnswer, PublishBody } from '../api/publish.ts'
import type { ApiTask, ListFilter } from '../api/tasks.ts'
import type { TransactEntry } from '../aws/dynamo/head/transact-entries.ts'
import { requiredVariable } from '../aws/environment.ts'
import { createTableSystem, type TableSystem } from '../aws/system.ts'
import { allPages, createOperations } from '../client/operations.ts'
import { type ResultOptions, waitForResult } from '../client/wait-for-result.ts'
import { taskId } from '../core/task/task.ts'
import type { AnyDefinition, NameOf, OutputOf, PublishArguments } from '../define/definitions.ts'
import type { Publishable } from '../define/publishable.ts'
import type { Log } from '../ports/machine.ts'
import { publishOperations } from '../service/operations/publish.ts'
import { readOperations } from '../service/operations/tasks.ts'
import { asProblem, sendToService } from '../service/send-to-service.ts'
import { createServing } from '../service/service.ts'
import { makeTransactItems, publishBodyOf } from './transact-items.ts'

export type TableClientSettings = {
  /** The name of the system's table. @default `BATON_TABLE`, which `grantPublish` sets */
  readonly table?: string
  /** The region of the table. @default found by the AWS SDK, in `AWS_REGION` or the profile */
  readonly region?: string
  /** Receives lines about what happens without the caller, such as an unreadable task in a list. @default they are discarded */
  readonly log?: Log
}

type PublishOptions = Omit<PublishBody, 'type' | 'input'>

/** The options of a publish within a transaction. A transaction cannot read the task that has the key. */
export type TransactOptions = Omit<PublishOptions, 'ifExists' | 'clean' | 'debounce' | 'throttle'> & {
  /** What happens when the key is taken: the transaction is cancelled. @default 'reject' */
  readonly ifExists?: 'reject'
}

/** The body of a publish within a transaction, such as `{ ...resize.with(input), key: 'img-1' }`. */
export type TransactBody = TransactOptions & Pick<PublishBody, 'type' | 'input'>

/** Which tasks `list` yields, as for the client of the HTTP API. */
export type TaskFilter = ListFilter

/** A published task. */
export type PublishedTask<Result = unknown> = PublishAnswer & {
  /** Waits for the end of the task. As `TableClient.result`. */
  result(options?: ResultOptions): Promise<Result>
}

export type TableClient = {
  /**
   * Publishes a task, given as a definition with its input and options, as the name of a type with both, or as a body. A second publish of
   * the same key creates nothing: its answer is the existing task, with `created: false`. Canvases are published over HTTP.
   */
  publish<What extends AnyDefinition | string = never>(
    what: What | NameOf<What> | PublishBody,
    ...given: PublishArguments<What, PublishOptions>
  ): Promise<PublishedTask<[What] extends [never] ? unknown : OutputOf<What>>>
  /**
   * Makes the entries that publish a task within a transaction of your own: 1 to 3 for each task. Spread them into the `TransactItems`
   * of a `TransactWriteCommand` of `@aws-sdk/lib-dynamodb`, and send it within ten minutes. The task exists if and only if all writes
   * of the transaction succeed. Several tasks are given as a list of bodies.
   *
   * ```ts
   * const entries = await table.transactItems(resize, { width: 200 }, { key: 'img-1' })
   * await documents.send(new TransactWriteCommand({ TransactItems: [putOrder, ...entries] }))
   * ```
   *
   * If the key is taken, the transaction is cancelled: see `taskAlreadyExists`. Without `key`, the id of the task is
   * `entries[0].Put.Item.pk`. To repeat a transaction with the same `ClientRequestToken`, send the same entries again: another call
   * makes other entries.
   *
   * @throws ProblemError when the publish is refused; nothing is written then. Refused by name are an unknown type, an input or
   * callbacks of more than 350 KB, `ifExists` other than `reject`, `debounce`, `throttle`, and two tasks of one key.
   */
  transactItems<What extends AnyDefinition | string = never>(
    what: What | NameOf<What> | TransactBody | readonly TransactBody[],
    ...given: PublishArguments<What, TransactOptions>
  ): Promise<TransactEntry[]>
  /** Reads a task with its runs, input and result. `id` is `type:key`. @throws ProblemError with status 404 when there is none */
  get(id: string): Promise<ApiTask>
  /**
   * Yields all tasks that match a filter, without inputs and results. It reads the next page when the caller has taken all tasks of
   * the present one. A program whose grant names `types` may list these types, and no users or canvases.
   *
   * @throws ProblemError when the filter is illegal, or names neither `type` nor `userId` nor `canvasId`
   */
  list(filter: ListFilter): AsyncGenerator<ApiTask, void, undefined>
  /**
   * Waits for a task's end and returns its result, typed by its definition. It reads the table after pauses that grow from 50 ms to 1 s.
   *
   * @throws ProblemError when the task failed or was cancelled (409), or did not end in time (408)
   */
  result<What extends AnyDefinition | string>(
    what: What | NameOf<What>,
    id: string | { readonly key: string },
    options?: ResultOptions,
  ): Promise<OutputOf<What>>
}

const noMetrics = { add: () => undefined }
const silent: Log = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
}

/**
 * Creates a client that works on the table of a system, under the program's own credentials. The program needs the grant
 * `TaskSystem.grantPublish`, and must run in the account and the region of the table.
 *
 * Every method throws `ProblemError` when a call is refused or the table does not answer (503). Errors of the AWS SDK about
 * permissions and credentials are thrown as they are.
 *
 * @throws BatonError `misconfigured` when neither `table` nor `BATON_TABLE` names the table
 */
export function createTableClient({ table, region, log = silent }: TableClientSettings = {}): TableClient {
  const on = createTableSystem({
    table: table ?? requiredVariable('BATON_TABLE'),
    log,
    metrics: noMetrics,
    ...(region !== undefined && { region }),
  })
  const client = createCalls(on)
  return client as unknown as TableClient
}

const TABLE_OPERATIONS = [...publishOperations, ...readOperations]

function createCalls(on: TableSystem) {
  const system = { ...on.system, checkInput: async () => [] }
  const serve = createServing(system, TABLE_OPERATIONS, { isFitted: false })
  const send = sendToService(serve)
  const { get, listPage } = createOperations(send)
  const result = (id: string, options: ResultOptions = {}) => waitForResult(() => get(id), options)
  return {
    publish: async (what: Publishable, ...given: unknown[]) => {
      const body = await publishBodyOf(what, given)
      const answer = await send<PublishAnswer>(targetOf('publish'), { body })
      return { ...answer, result: (options?: ResultOptions) => result(answer.id, options) }
    },
    transactItems: (what: Publishable | readonly Publishable[], ...given: unknown[]) =>
      makeTransactItems(on, what, given).catch(asProblem),
    get: (id: string) => get(id),
    list: (filter: ListFilter) => allPages(listPage, {})(filter),
    result: (what: { type: string } | string, id: string | { key: string }, options?: ResultOptions) =>
      result(
        typeof id === 'string' ? id : taskId(typeof what === 'string' ? what : what.type, id.key),
        options,
      ),
  }
}
