import { remove } from '../../../core/operate/operate.ts'
import { DEFAULT_OPTIONS } from '../../../core/options/options.ts'
import { firstFence } from '../../../core/task/head.ts'
import { splitTaskId, type Task } from '../../../core/task/task.ts'
import type { Clock, Log } from '../../../ports/machine.ts'
import type { StoredBy } from '../codecs.ts'
import { METERED, type PutRequest } from '../documents.ts'
import { JOINED_BY_AND } from '../expressions.ts'
import type { Item } from '../stored-form.ts'
import { headItem } from './items.ts'
import { MEMBER } from './origin-attributes.ts'

/**
 * This file handles heads that this code cannot read. Lists and claims leave them out and log them, and an operator can remove them.
 */

const LOG_PERIOD_MS = 60_000
/** A process that meets more unreadable heads or types forgets which ones it has logged. */
const LOGGED_HEADS_MAX = 1_000

/** Logs each head, or each type, that a read leaves out, at most once a minute. */
export function unreadableLogger(
  log: Pick<Log, 'error'>,
  clock: Pick<Clock, 'now'>,
  what: 'task' | 'type' = 'task',
) {
  const loggedAt = new Map<string, number>()
  return (id: string, error: unknown): void => {
    const now = clock.now()
    if (now - (loggedAt.get(id) ?? Number.NEGATIVE_INFINITY) < LOG_PERIOD_MS) return
    if (loggedAt.size >= LOGGED_HEADS_MAX) loggedAt.clear()
    loggedAt.set(id, now)
    log.error(`a ${what} is left out: its stored form cannot be read`, {
      [what === 'task' ? 'taskId' : 'taskType']: id,
      error,
    })
  }
}

/**
 * Replaces an unreadable head by the tombstone of a removed task. Guard: revision and birth are those that were read, as far as
 * the item has them.
 */
export function buryHead(table: string, item: Item, now: number): PutRequest {
  const { born, rev } = item
  const hasBirth = typeof born === 'string'
  const hasRevision = Number.isFinite(rev)
  const clauses = [
    'attribute_exists(#pk)',
    ...(hasBirth ? ['#born = :born'] : []),
    ...(hasRevision ? ['#rev = :rev'] : []),
  ]
  return {
    ...METERED,
    TableName: table,
    Item: headItem(tombstoneOf(item, now)),
    ConditionExpression: clauses.join(JOINED_BY_AND),
    ExpressionAttributeNames: {
      '#pk': 'pk',
      ...(hasBirth && { '#born': 'born' }),
      ...(hasRevision && { '#rev': 'rev' }),
    },
    ...((hasBirth || hasRevision) && {
      ExpressionAttributeValues: { ...(hasBirth && { ':born': born }), ...(hasRevision && { ':rev': rev }) },
    }),
  }
}

const NO_BIRTH = '0'.repeat(26)

/** The tombstone keeps what must outlive the task, as far as the item has it: birth, revision, fence, and membership of a canvas. */
function tombstoneOf(item: Item, now: number): Task {
  const id = String(item.pk)
  const { type = '', key = '' } = splitTaskId(id) ?? {}
  const member = memberIn(item)
  const task: Task = {
    id,
    type,
    key,
    kind: 'handler',
    ordering: 'arrival',
    born: typeof item.born === 'string' ? item.born : NO_BIRTH,
    revision: numberOr(0, item.rev),
    operation: 'remove',
    state: 'open',
    dueAt: now,
    retrying: false,
    priority: 0,
    options: DEFAULT_OPTIONS,
    fence: numberOr(firstFence(now), item.fence),
    live: {},
    ended: {},
    failures: 0,
    failuresBy: {},
    retryAtBy: {},
    createdAt: numberOr(now, item.created),
    updatedAt: now,
    shard: 0,
    ...(member && { member }),
  }
  return remove(task, now).after
}

function memberIn(item: Item): Task['member'] {
  try {
    const member = item.member ? MEMBER.decode(item.member as StoredBy<typeof MEMBER>) : undefined
    return typeof member?.born === 'string' && Number.isInteger(member.leaf) ? member : undefined
  } catch {
    return undefined
  }
}

function numberOr(absent: number, value: unknown): number {
  return Number.isSafeInteger(value) ? (value as number) : absent
}
