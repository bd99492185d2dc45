import type { SchedulerClient } from '@aws-sdk/client-scheduler'
import type { SQSClient } from '@aws-sdk/client-sqs'
import type { Documents } from '../../../shared/aws/dynamo/documents.ts'
import { HEAD_SORT_KEY } from '../../../shared/aws/dynamo/keys.ts'
import { createFarTimers } from '../../../shared/aws/far-timers.ts'
import { createSqsMessages } from '../../../shared/aws/sqs/messages.ts'
import { decodeDispatch, encodeMinute } from '../../../shared/aws/sqs/wire.ts'
import type { FarTimers, Messages } from '../../../shared/ports/messages.ts'
import { createManualClock } from '../../support/ports/clock.ts'
import { NOW } from '../../support/tasks/a-task.ts'
import { type Names, plainKey, plainSegment, walk } from './names.ts'

type Input = Readonly<Record<string, unknown>>
type Command = { readonly input: Input }

/** A table that records the names in every write and answers every read as empty. */
export function recordingDocuments(names: Names): Documents {
  const write = async (input: Input) => {
    if ('Item' in input) noteItem(names, input.Item as Input)
    if ('UpdateExpression' in input) noteUpdate(names, input)
    if ('Key' in input) noteKey(names, input.Key as Input)
    return { isWritten: true, item: undefined }
  }
  return {
    put: write,
    update: write,
    delete: write,
    get: async request => void (await write(request)),
    query: async () => ({ items: [], count: 0, next: undefined }),
    batchGet: async () => ({ items: [], left: undefined }),
  }
}

/** The kind of the item that has this key. */
function kindOf({ pk, sk }: Input): string {
  if (sk === HEAD_SORT_KEY) return 'head'
  const partition = plainKey(String(pk)).split('#')[0] ?? ''
  return partition.includes(':') ? `body ${plainKey(String(sk)).split('#')[0]}` : partition
}

function noteKey(names: Names, key: Input): void {
  const kind = kindOf(key)
  const isOfTask = kind === 'head' || kind.startsWith('body ')
  names.add(
    'DynamoDB: keys of items',
    `${kind}: ${isOfTask ? '<task id>' : plainKey(String(key.pk))} | ${sortKey(kind, key)}`,
  )
}

function sortKey(kind: string, { sk }: Input): string {
  if (kind === 'types') return '<type>'
  if (kind === 'workers') return '<worker id>'
  if (kind === 'dead-letters') return '<letter id>'
  return kind === 'target' ? '<task id>' : plainKey(String(sk))
}

/** Attributes that hold JSON text of the system's own form. */
const JSON_TEXT = ['json', 'options', 'ops', 'canvas.tree', 'calls.body']
const JSON_OF_USERS = ['body in', 'body out']

function noteItem(names: Names, item: Input): void {
  noteKey(names, item)
  const kind = kindOf(item)
  walk(item, '', (path, value) => notePath(names, kind, path, value))
  if (kind === 'head') noteIndexKeys(names, item)
}

function notePath(names: Names, kind: string, path: string, value: unknown): void {
  names.add(`DynamoDB: attributes of ${kind}`, path)
  noteValue(names, `DynamoDB: values of ${kind}`, path, value)
  const isText = typeof value === 'string' && JSON_TEXT.includes(path) && !JSON_OF_USERS.includes(kind)
  if (!isText) return
  walk(JSON.parse(value), '', (below, leaf) => {
    names.add(`DynamoDB: attributes of ${kind}`, `${path} → ${below}`)
    noteValue(names, `DynamoDB: values of ${kind}`, `${path} → ${below}`, leaf)
  })
}

/** Members whose value is one word of a closed set, by the end of their paths. */
const WORDS =
  /(^|\.)(op|state|kind|order|ordering|how|first|s|cause|onCancel|scope|servedBy|bucket|statuses\[\]|unapplied\[\])$/

function noteValue(names: Names, group: string, path: string, value: unknown): void {
  if (typeof value === 'string' && WORDS.test(path)) names.add(group, `${path} = ${value}`)
}

function noteIndexKeys(names: Names, { vpk, ppk, opk }: Input): void {
  const group = 'DynamoDB: partitions of indexes'
  if (vpk !== undefined) names.add(group, `vpk: <type>#${String(vpk).split('#')[1]}#*`)
  if (ppk !== undefined) names.add(group, `ppk: ${plainKey(String(ppk))}`)
  if (opk !== undefined) names.add(group, `opk: ${plainKey(String(opk))}`)
}

/** The paths that an update sets, adds to or removes, and the names in its condition. */
function noteUpdate(names: Names, input: Input): void {
  const kind = kindOf(input.Key as Input)
  const aliases = input.ExpressionAttributeNames as Record<string, string>
  const values = (input.ExpressionAttributeValues ?? {}) as Record<string, unknown>
  const pathOf = (text: string) => {
    const whole = text.split('.').map(alias => aliases[alias] ?? alias)
    return whole.map((name, at) => (whole[at - 1] === 'failuresBy' ? '*' : plainSegment(name))).join('.')
  }
  const noteIn = (group: string, text: unknown) => {
    for (const [path] of String(text ?? '').matchAll(/#\w+(?:\.#\w+)*/g)) names.add(group, pathOf(path))
  }
  noteIn(`DynamoDB: attributes of ${kind}`, input.UpdateExpression)
  noteIn(`DynamoDB: attributes in conditions on ${kind}`, input.ConditionExpression)
  for (const [, path = '', alias = ''] of String(input.UpdateExpression).matchAll(
    /(#\w+(?:\.#\w+)*) =? ?(:\w+)/g,
  )) {
    walk(values[alias], pathOf(path), (below, leaf) => notePath(names, kind, below, leaf))
  }
}

const QUEUES = { system: 'baton', wakeQueueUrl: 'https://sqs/1/wake', jobsQueueUrl: 'https://sqs/1/jobs' }

/** Queues that record the names in every message. */
export function recordingSqs(names: Names, sent: (body: string) => void): SQSClient {
  const send = async ({ input }: Command) => {
    const { Entries = [input] } = input as { Entries?: readonly Input[] }
    for (const { MessageBody } of Entries) {
      if (typeof MessageBody !== 'string') continue
      noteMessage(names, MessageBody)
      sent(MessageBody)
    }
    return {}
  }
  return { send } as unknown as SQSClient
}

/** A dispatch carries the stored form of a head, whose names are recorded among those of items. */
function noteMessage(names: Names, body: string): void {
  const message = JSON.parse(body) as Input
  const { head, ...rest } = message
  const kind = String(message.kind ?? 'dispatch')
  const group = `Messages: fields of ${kind}`
  if (head !== undefined) names.add(group, 'head')
  walk(rest, '', (path, value) => {
    names.add(group, path)
    noteValue(names, `Messages: values of ${kind}`, path, value)
    if (/^(v|events\[\]\.(type|status))$/.test(path))
      names.add(`Messages: values of ${kind}`, `${path} = ${value}`)
  })
  if (head !== undefined) names.add(group, `read: ${Object.keys(decodeDispatch(body)).join(', ')}`)
}

export function recordingMessages(
  names: Names,
  encodeTask: Parameters<typeof createSqsMessages>[2],
  sent: (body: string) => void,
): Messages {
  return createSqsMessages(recordingSqs(names, sent), QUEUES, encodeTask)
}

/** Schedules of far minutes, with the message that each sends. */
export function recordingTimers(names: Names): FarTimers {
  const send = async ({ input }: Command) => {
    walk(input, '', path => names.add('Scheduler: fields of a schedule', path))
    names.add('Scheduler: names', String(input.Name).replace(/\d+/, '*'))
    names.add(
      'Scheduler: names',
      `message ${(input.Target as { Input: string }).Input.replace(/:\d{4,}/, ':*')}`,
    )
    return {}
  }
  return createFarTimers({ send } as unknown as SchedulerClient, createManualClock(NOW), {
    group: 'group',
    roleArn: 'role',
    queueArn: 'queue',
    deadLetterArn: 'dead',
    message: minute => encodeMinute({ minute }),
  })
}
