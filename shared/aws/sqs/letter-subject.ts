import { type LetterQueue, type LetterSubject, typeQueue } from '../../core/dead-letters/dead-letters.ts'
import { minuteStart } from '../../core/place/place.ts'
import { workOf } from '../../core/task/piece.ts'
import { splitTaskId, type Task } from '../../core/task/task.ts'
import { queueNameOf, servingType } from '../../core/types/task-type.ts'
import { defined } from '../../core/values/json.ts'
import type { TaskCodec, Wake } from '../../ports/messages.ts'
import { type DecodedDispatch, decodeDispatch, decodeWake } from './wire.ts'

/** Finds out what a dead letter was about, and which queue gave it up. */

/** What is known of a message: what it was about, and the type whose workers were to take the task. */
type ReadLetter = {
  readonly subject: LetterSubject
  readonly servingType?: string
  readonly error?: string
}

/** Reads the body of a dead letter. A body of any kind has a subject, so that no message is lost. */
export async function readLetter(codec: TaskCodec, body: string): Promise<ReadLetter> {
  const content = objectIn(body)
  if (content.source === 'aws.scheduler' || body.trim() === '{}') return { subject: { kind: 'round' } }
  try {
    if ('DDBStreamBatchInfo' in content) return changesIn(content as StreamFailure)
    return 'kind' in content ? { subject: wakeSubject(body) } : await dispatchIn(codec, decodeDispatch(body))
  } catch {
    return { subject: { kind: 'unreadable' } }
  }
}

function objectIn(body: string): Readonly<Record<string, unknown>> {
  try {
    const content: unknown = JSON.parse(body)
    return typeof content === 'object' && content !== null ? (content as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}

/** What Lambda sends about a batch that it gave up. Source: Lambda with DynamoDB, on-failure destinations. */
type StreamFailure = {
  readonly requestContext?: { readonly condition?: string; readonly approximateInvokeCount?: number }
  readonly DDBStreamBatchInfo?: { readonly shardId?: string; readonly batchSize?: number }
}

function changesIn({ requestContext = {}, DDBStreamBatchInfo = {} }: StreamFailure): ReadLetter {
  const { shardId = '', batchSize = 0 } = DDBStreamBatchInfo
  const { condition, approximateInvokeCount: tries } = requestContext
  const error = condition && (tries === undefined ? condition : `${condition} after ${tries} invocations`)
  return { subject: { kind: 'changes', count: batchSize, shardId }, ...defined({ error }) }
}

async function dispatchIn(codec: TaskCodec, { id, form }: DecodedDispatch): Promise<ReadLetter> {
  const task = await taskIn(codec, form)
  if (!task)
    return { subject: { kind: 'dispatch', taskId: id }, ...defined({ servingType: splitTaskId(id)?.type }) }
  const { type, kind } = workOf(task)
  const { born, revision } = task
  return { subject: { kind: 'dispatch', taskId: id, born, revision }, servingType: servingType(type, kind) }
}

/** The task in a dispatch. Undefined when it has the form of another version, or when the table does not answer. */
async function taskIn(codec: TaskCodec, form: unknown): Promise<Task | undefined> {
  if (form === undefined) return undefined
  return codec.decode(form).catch(() => undefined)
}

function wakeSubject(body: string): LetterSubject {
  const message = decodeWake(body)
  if (message.kind !== 'events') return subjectOfWake(message)
  const { events } = message.late
  const taskId = events.map(event => event.taskId).find(id => id !== undefined)
  return { kind: 'events', count: events.length, ...defined({ taskId }) }
}

function subjectOfWake(wake: Wake): LetterSubject {
  switch (wake.kind) {
    case 'look':
      return { kind: 'look', taskId: wake.look.id, born: wake.look.born, revision: wake.look.revision }
    case 'minute':
      return { kind: 'minute', dueAt: minuteStart(wake.minute) }
    case 'minute-shard':
      return { kind: 'minute', dueAt: minuteStart(wake.look.minute) }
    case 'canvas':
      return { kind: 'canvas', canvasId: wake.look.id }
    case 'job':
      return { kind: 'job', type: wake.look.type, job: wake.look.job.kind }
    case 'limit':
      return { kind: 'limit', limit: wake.look.line.limit }
  }
}

/** The names of the queues that give messages up. */
export type SourceNames = { readonly system: string; readonly wake: string; readonly jobs?: string }

const QUEUE_OF_KIND: Readonly<Record<Exclude<LetterSubject['kind'], 'dispatch'>, LetterQueue>> = {
  look: 'wake',
  limit: 'wake',
  minute: 'wake',
  events: 'wake',
  canvas: 'jobs',
  job: 'jobs',
  changes: 'stream',
  round: 'schedules',
  unreadable: 'unknown',
}

/**
 * The queue that gave a message up. SQS names it for the messages that it moved itself (`source`). Without a name, the message came
 * from a service, or SQS does not tell: then it follows from the subject.
 */
export function queueOfLetter(
  { subject, servingType: type }: ReadLetter,
  source: string | undefined,
  { system, wake, jobs }: SourceNames,
): LetterQueue {
  if (source === wake) return 'wake'
  if (source !== undefined && source === jobs) return 'jobs'
  if (subject.kind !== 'dispatch')
    return source === undefined ? QUEUE_OF_KIND[subject.kind] : plainQueue(system, source)
  if (type !== undefined && (source === undefined || queueNameOf(system, type) === source))
    return typeQueue(type)
  return source === undefined ? 'unknown' : plainQueue(system, source)
}

/** The type's queue of this name. A name that ends in a hash does not tell its type. */
function plainQueue(system: string, name: string): LetterQueue {
  const prefix = queueNameOf(system, '')
  const type = name.slice(prefix.length)
  return name.startsWith(prefix) && queueNameOf(system, type) === name ? typeQueue(type) : 'unknown'
}
