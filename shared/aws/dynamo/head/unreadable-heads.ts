import type { PutCommandInput } from '@aws-sdk/lib-dynamodb'
import { remove } from '../../../core/operate/operate.ts'
import { DEFAULT_OPTIONS } from '../../../core/options/options.ts'
import { firstFence } from '../../../core/task/fence.ts'
import { splitTaskId, type Task } from '../../../core/task/task.ts'
import type { Clock, Log } from '../../../ports/machine.ts'
import { JOINED_BY_AND } from '../expressions.ts'
import { METERED } from '../sending.ts'
import type { Item } from '../stored-form.ts'
import { headItem } from './items.ts'
import { type OriginValues, originFrom } from './origin-values.ts'

/** Heads that this code cannot read: all else goes on without them, they are told of, and a person can remove them. */

const TOLD_AGAIN_MS = 60_000
/** A process that meets more of them forgets which it has told of. */
const TOLD_MAX = 1_000

/** Logs each head, or each type, that was left out, once a minute. */
export function unreadableLogger(
  log: Pick<Log, 'error'>,
  clock: Pick<Clock, 'now'>,
  what: 'task' | 'type' = 'task',
) {
  const told = new Map<string, number>()
  return (id: string, error: unknown): void => {
    const now = clock.now()
    if (now - (told.get(id) ?? Number.NEGATIVE_INFINITY) < TOLD_AGAIN_MS) return
    if (told.size >= TOLD_MAX) told.clear()
    told.set(id, now)
    log.error(`a ${what} is left out: what is stored of it cannot be read`, {
      [what === 'task' ? 'taskId' : 'taskType']: id,
      error,
    })
  }
}

/**
 * Puts the tombstone of a removed task in the place of a head that cannot be read. Guard: revision and birth are those that
 * were read, as far as there are any.
 */
export function buryHead(table: string, item: Item, now: number): PutCommandInput {
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

/** What must outlive the task is taken from the item where it is there: birth, revision, fence, and its place in a canvas. */
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
    createdAt: numberOr(now, item.created),
    updatedAt: now,
    shard: 0,
    ...(member && { member }),
  }
  return remove(task, now).after
}

function memberIn(item: Item): Task['member'] {
  try {
    const value = item.member as OriginValues['member']
    const { member } = originFrom(value ? { member: value } : {})
    return typeof member?.born === 'string' && Number.isInteger(member.leaf) ? member : undefined
  } catch {
    return undefined
  }
}

function numberOr(absent: number, value: unknown): number {
  return Number.isSafeInteger(value) ? (value as number) : absent
}
