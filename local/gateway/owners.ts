/**
 * Finds the tasks that a usage is charged to. They are found by what a call, a message or a record names, so a task is charged exactly
 * for its own:
 *
 * - a call of DynamoDB: the tasks in whose partitions its items are; for a query that names none, the tasks that it has found;
 * - a call of SQS: the tasks of its messages, also when a receipt is all that names a message;
 * - an invocation by messages or by the stream: the tasks of its records;
 * - a request of the HTTP API, with its invocation: the tasks that its calls have named until it was answered;
 * - a line of a log: its task.
 *
 * Items such as the activity of a type are charged to the type alone. All else is the system's own: sweeps, receives without a message,
 * items that tasks share, and what the dashboard reads.
 */

import { type Answer, bodyOf, type Call, textAttributes, textFields } from './call.ts'

export type Owners = {
  /** The owners of a call. They are noted for the request of the API that made it. */
  ofCall(call: Call, answer: Answer): readonly string[]
  /** The owners of an invocation. That of a request of the API has to be asked before its `Followed` has ended. */
  ofInvocation(event: unknown, trace: string): readonly string[]
  /** The owner of a line that a function has logged. */
  ofLine(line: string): readonly string[]
  /** From now on the calls of a chain are noted. `isOwn`: they are the system's own, as those are by which the dashboard reads. */
  follow(trace: string, isOwn: boolean): Followed
}

type Followed = {
  /** Ends the notes. Returns the owners of all calls. */
  end(): readonly string[]
}

type Chain = { readonly isOwn: boolean; readonly owners: Set<string> }

/** The name of the table's partition key. */
const PARTITION_KEY = 'pk'
/** Receipts of messages that were never deleted are forgotten, the oldest first. */
const RECEIPTS_KEPT = 5_000

/** `hasType` tells whether tasks of this type were charged before. */
export function createOwners(hasType: (name: string) => boolean): Owners {
  const chains = new Map<string, Chain>()
  const receipts = createReceipts()

  const inPartition = (partition: string) => ownerOfPartition(partition, hasType)
  const inPartitions = (body: Buffer) => textAttributes(body, PARTITION_KEY).flatMap(inPartition)

  function ownersOf(call: Call, answer: Answer): readonly string[] {
    if (call.service === 'dynamodb')
      return firstKnown(
        () => inPartitions(call.body),
        () => inPartitions(answer.body),
      )
    return call.service === 'sqs' ? receipts.ownersOf(call, answer) : []
  }

  return {
    ofCall: (call, answer) => {
      const chain = chains.get(rootOf(call.headers['x-amzn-trace-id']))
      const owners = [...new Set(ownersOf(call, answer))]
      if (chain?.isOwn) return []
      for (const owner of owners) chain?.owners.add(owner)
      return owners
    },
    ofInvocation: (event, trace) => {
      const records = recordsOf(event)
      if (records.length === 0) return [...(chains.get(rootOf(trace))?.owners ?? [])]
      return [...new Set(records.flatMap(record => ownersOfRecord(record, inPartition)))]
    },
    ofLine: line => textFields(Buffer.from(line), 'taskId').slice(0, 1),
    follow: (trace, isOwn) => {
      const root = rootOf(trace)
      const chain = { isOwn, owners: new Set<string>() }
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

function firstKnown(...found: ReadonlyArray<() => readonly string[]>): readonly string[] {
  for (const owners of found.map(find => find())) if (owners.length > 0) return owners
  return []
}

/** A task's id has a colon before any `#`. In other partitions a known type may stand between two of them. */
function ownerOfPartition(partition: string, hasType: (name: string) => boolean): string[] {
  const [first = '', ...rest] = partition.split('#')
  if (first.indexOf(':') > 0) return [partition]
  return rest.filter(hasType).slice(0, 1)
}

function rootOf(trace: string | string[] | undefined): string {
  return /Root=([^;]+)/.exec(String(trace))?.[1] ?? ''
}

type Record = {
  readonly body?: string
  readonly dynamodb?: { readonly Keys?: Readonly<{ [name: string]: { readonly S?: string } }> }
}

function recordsOf(event: unknown): readonly Record[] {
  const { Records = [] } = (event ?? {}) as { Records?: readonly Record[] }
  return Records
}

function ownersOfRecord({ body, dynamodb }: Record, inPartition: (partition: string) => string[]): string[] {
  if (body !== undefined) return ownerOfMessage(body)
  return inPartition(dynamodb?.Keys?.[PARTITION_KEY]?.S ?? '')
}

/** The task that a message names by its `id`, or the type of its job. */
function ownerOfMessage(text: string): string[] {
  const { id, type } = bodyOf({ body: Buffer.from(text) })
  if (typeof id === 'string' && id.includes(':')) return [id]
  return typeof type === 'string' ? [type] : []
}

type Message = { readonly MessageBody?: string; readonly Body?: string; readonly ReceiptHandle?: string }
type Messages = Message & { readonly Entries?: readonly Message[]; readonly Messages?: readonly Message[] }

/** Keeps which receipts are for messages of which tasks. */
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
