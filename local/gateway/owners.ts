/**
 * Finds the tasks that a usage is charged to. They are found by what a call, a message or a record names. A usage for several tasks is
 * shared equally.
 *
 * - a call of DynamoDB on the table of a task system: the tasks in whose partitions its items are; for a query that names none, the tasks
 *   that it has found;
 * - a call of SQS: the tasks of its messages, also when a receipt is all that names a message;
 * - an invocation by messages or by the stream: the tasks of its records;
 * - a request of the HTTP API, with its invocation: the tasks that its calls have named until it was answered;
 * - a line of a log: its task.
 *
 * Items such as the activity of a type are charged to the type alone. All else is the system's own: sweeps and receives that find nothing,
 * items that tasks share, canvases and schedules themselves, tables of users, and what the dashboard reads.
 */
import type { Stack } from '../template/stack.ts'
import { type Answer, bodyOf, type Call, textAttributes, textFields } from './call.ts'

type Chain = { readonly isUncharged: boolean; readonly owners: Set<string> }

const PARTITION_KEY = 'pk'
/** What has the id of a task, but is none: canvases and schedules. A test compares these names with the core's. */
const RESERVED_TYPES = ['canvas', 'schedule']
/** This many receipts are kept: the receipts of the last received messages. */
const RECEIPTS_KEPT = 5_000

/** `hasType` says whether tasks of this type were charged before. */
export function createOwners(hasType: (name: string) => boolean) {
  const chains = new Map<string, Chain>()
  const receipts = createReceipts()
  let taskTables: ReadonlySet<string> = new Set()

  const inPartition = (partition: string) => ownerOfPartition(partition, hasType)
  const inPartitions = (body: Buffer) => textAttributes(body, PARTITION_KEY).flatMap(inPartition)

  function ownersOf(call: Call, answer: Answer): readonly string[] {
    if (call.service === 'sqs') return receipts.ownersOf(call, answer)
    const requests = call.service === 'dynamodb' ? requestsOn(taskTables, call) : []
    if (requests.length === 0) return []
    return firstKnown(
      () => requests.flatMap(inPartitions),
      () => inPartitions(answer.body),
    )
  }

  return {
    /** From now on these are the tables of the task systems. Before, there are none. */
    deploy: (tables: ReadonlySet<string>) => {
      taskTables = tables
    },
    /** The owners of a call. They are noted for the request of the API that made it. */
    ofCall: (call: Call, answer: Answer) => {
      const chain = chains.get(rootOf(call.headers['x-amzn-trace-id']))
      const owners = [...new Set(ownersOf(call, answer))]
      if (chain?.isUncharged) return []
      for (const owner of owners) chain?.owners.add(owner)
      return owners
    },
    /** The owners of an invocation. The owner of an API request must be asked for before its notes have ended. */
    ofInvocation: (event: unknown, trace: string) => {
      const records = recordsOf(event)
      if (records.length === 0) return [...(chains.get(rootOf(trace))?.owners ?? [])]
      return [...new Set(records.flatMap(record => ownersOfRecord(record, taskTables, inPartition)))]
    },
    ofLine: (line: string) => textFields(Buffer.from(line), 'taskId').slice(0, 1).filter(isChargedTask),
    /**
     * From now on the calls of a chain are noted. `isUncharged`: the system pays for the calls, as for reads by the dashboard. `end` ends the
     * notes, and returns the owners of all calls.
     */
    follow: (trace: string, isUncharged: boolean) => {
      const root = rootOf(trace)
      const chain = { isUncharged, owners: new Set<string>() }
      // The header comes from the caller, and may be any text.
      if (root !== '') chains.set(root, chain)
      return {
        end: () => {
          if (chains.get(root) === chain) chains.delete(root)
          return [...chain.owners]
        },
      }
    },
  }
}

/** Finds the tables of the task systems of a stack. Each function of a task system has the name of its table in this variable. */
export function readTaskTables(stack: Stack): ReadonlySet<string> {
  const named = stack.ids('AWS::Lambda::Function').map(id => taskTableOf(stack, id))
  return new Set(named.filter(name => typeof name === 'string'))
}

/** An environment with a value that does not exist locally names no table: its function does not run here. */
function taskTableOf(stack: Stack, functionId: string): unknown {
  try {
    const environment = stack.read(functionId, 'Environment') as
      | { Variables?: { BATON_TABLE?: unknown } }
      | undefined
    return environment?.Variables?.BATON_TABLE
  } catch {
    return undefined
  }
}

type Transaction = {
  readonly TransactItems?: ReadonlyArray<Readonly<Record<string, { readonly TableName?: string }>>>
}

/**
 * What a call of DynamoDB asks of these tables: its body, or parts of it. A batch and a transaction may name other tables, too. Bodies
 * that name one table are not parsed, because they may have hundreds of KB.
 */
function requestsOn(tables: ReadonlySet<string>, call: Call): readonly Buffer[] {
  const named = new Set(textFields(call.body, 'TableName'))
  const isWhole = named.size > 0 && [...named].every(name => tables.has(name))
  if (isWhole) return [call.body]
  const { TransactItems = [] } = bodyOf(call) as Transaction
  const { RequestItems } = bodyOf(call)
  return [
    ...TransactItems.filter(item => Object.values(item).some(({ TableName = '' }) => tables.has(TableName))),
    ...Object.entries(RequestItems ?? {}).flatMap(([name, asked]) => (tables.has(name) ? [asked] : [])),
  ].map(part => Buffer.from(JSON.stringify(part)))
}

function firstKnown(...found: ReadonlyArray<() => readonly string[]>): readonly string[] {
  for (const owners of found.map(find => find())) if (owners.length > 0) return owners
  return []
}

/** Whether a text has the form of a task's id, `type:key`. Canvases and schedules have that form, but the system pays for them. */
function isChargedTask(text: string): boolean {
  const [, type] = /^([\w.-]+):./s.exec(text) ?? []
  return type !== undefined && isChargedType(type)
}

/** Whether tasks can have this type. Reserved names stand for canvases and schedules. */
function isChargedType(name: string): boolean {
  return !RESERVED_TYPES.includes(name)
}

/** A task's id has a colon before any `#`. In other partitions a known type may be between two of them. */
function ownerOfPartition(partition: string, hasType: (name: string) => boolean): string[] {
  const [first = '', ...rest] = partition.split('#')
  if (first.indexOf(':') > 0) return [partition].filter(isChargedTask)
  return rest.filter(hasType).slice(0, 1)
}

function rootOf(trace: string | string[] | undefined): string {
  return /Root=([^;]+)/.exec(String(trace))?.[1] ?? ''
}

/** A record of SQS or of a stream. An invocation may come from a user, with any event, so nothing about it is certain. */
type EventRecord = {
  readonly body?: unknown
  readonly eventSourceARN?: unknown
  readonly dynamodb?: { readonly Keys?: Readonly<{ [name: string]: { readonly S?: unknown } | undefined }> }
} | null

function recordsOf(event: unknown): readonly EventRecord[] {
  const { Records } = (event ?? {}) as { Records?: unknown }
  return Array.isArray(Records) ? Records : []
}

function ownersOfRecord(
  record: EventRecord,
  taskTables: ReadonlySet<string>,
  inPartition: (partition: string) => string[],
): string[] {
  if (typeof record?.body === 'string') return ownerOfMessage(record.body)
  const [, table = ''] = /:table\/([^/]+)/.exec(String(record?.eventSourceARN)) ?? []
  const partition = record?.dynamodb?.Keys?.[PARTITION_KEY]?.S
  return taskTables.has(table) && typeof partition === 'string' ? inPartition(partition) : []
}

/** The task that a message names by its `id`, or the type of its job. */
function ownerOfMessage(text: string): string[] {
  const { id, type } = bodyOf({ body: Buffer.from(text) })
  if (typeof id === 'string' && id.includes(':')) return [id].filter(isChargedTask)
  return typeof type === 'string' ? [type].filter(isChargedType) : []
}

type Message = { readonly MessageBody?: string; readonly Body?: string; readonly ReceiptHandle?: string }
type Messages = Message & { readonly Entries?: readonly Message[]; readonly Messages?: readonly Message[] }

/** Keeps for each receipt the task of its message. */
function createReceipts() {
  const owners = new Map<string, readonly string[]>()

  function keep({ ReceiptHandle = '', Body = '' }: Message): readonly string[] {
    const found = ownerOfMessage(Body)
    owners.set(ReceiptHandle, found)
    const [oldest] = owners.keys()
    if (owners.size > RECEIPTS_KEPT && oldest !== undefined) owners.delete(oldest)
    return found
  }

  function ownerOf({ MessageBody, ReceiptHandle }: Message): readonly string[] {
    if (MessageBody !== undefined) return ownerOfMessage(MessageBody)
    return owners.get(ReceiptHandle ?? '') ?? []
  }

  return {
    ownersOf: (call: Call, answer: Answer): readonly string[] => {
      if (call.operation === 'ReceiveMessage')
        return ((bodyOf(answer) as Messages).Messages ?? []).flatMap(keep)
      const sent = bodyOf(call) as Messages
      return (sent.Entries ?? [sent]).flatMap(ownerOf)
    },
  }
}
