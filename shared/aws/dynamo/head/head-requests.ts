import type { Change, Guard } from '../../../core/change/change.ts'
import type { Head } from '../../../core/task/head.ts'
import type { LookRecord } from '../../../core/wake/look.ts'
import {
  type BatchGetRequest,
  type GetRequest,
  METERED,
  type PutRequest,
  type UpdateRequest,
} from '../documents.ts'
import { JOINED_BY_AND, updateExpression } from '../expressions.ts'
import { BEAT_OPERATION, HEAD_SORT_KEY, OPERATION_ATTRIBUTE } from '../keys.ts'
import { changedPaths } from './changed-paths.ts'
import { guardExpression } from './guard-clauses.ts'
import { headItem } from './items.ts'

/**
 * The attribute that holds the id of the last write of a head. A request that is repeated after a lost answer recognises its
 * own write by this id. Heartbeats carry no write id: repeating one changes nothing, and its id would hide that of the write
 * before.
 */
export const WRITE_ID_ATTRIBUTE = 'tok'

/**
 * Attributes that heartbeats change without a new revision: the operation, and the running place, which the first heartbeat of a
 * handler's run enters. So a write that was decided before such a heartbeat must state them, even where it means no change.
 * Otherwise the stream's filter would drop it as a heartbeat, or an ended task would stay in the running place.
 */
const CHANGED_BY_BEATS = [OPERATION_ATTRIBUTE, 'ppk', 'psk']

function headKey(id: string) {
  return { pk: id, sk: HEAD_SORT_KEY }
}

/** Reads a head. Strongly consistent. */
export function getHead(table: string, id: string): GetRequest {
  return { ...METERED, TableName: table, Key: headKey(id), ConsistentRead: true }
}

/** Reads the heads of at most 100 different ids. Eventually consistent. */
export function batchGetHeads(table: string, ids: readonly string[]): BatchGetRequest {
  return { ...METERED, RequestItems: { [table]: { Keys: ids.map(headKey) } } }
}

/** Writes a new head. Guard: the change's own, which is that no head has this id. */
export function putHead(table: string, { after, guard }: Change, writeId: string): PutRequest {
  const { text, names } = guardExpression(guard)
  return {
    ...METERED,
    TableName: table,
    Item: { ...headItem(after), [WRITE_ID_ATTRIBUTE]: writeId },
    ConditionExpression: text,
    ExpressionAttributeNames: names,
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
  }
}

/**
 * Moves one run from the live to the ended ones, and adds one to the revision, whatever it is. Guard: the run is live. Like a
 * heartbeat, it carries no write id: after a lost answer the run's end proves the write.
 */
function countSuccess(table: string, { after }: Change, guard: CountedGuard): UpdateRequest {
  const fence = String(guard.fence)
  const { ended, updated } = headItem(after)
  const condition = guardExpression(guard)
  return {
    ...METERED,
    TableName: table,
    Key: headKey(after.id),
    UpdateExpression:
      'SET #ended.#fence = :run, #op = :op, #updated = :updated, #rev = #rev + :one REMOVE #live.#fence',
    ConditionExpression: condition.text,
    ExpressionAttributeNames: {
      ...condition.names,
      '#op': OPERATION_ATTRIBUTE,
      '#updated': 'updated',
      '#rev': 'rev',
    },
    ExpressionAttributeValues: {
      ...condition.values,
      ':run': ended?.[fence],
      ':op': after.operation,
      ':updated': updated,
      ':one': 1,
    },
    ReturnValues: 'ALL_NEW',
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
  }
}

type CountedGuard = Extract<Guard, { fence: number }>

/** Writes the paths that a change alters. Guard: the change's own. */
export function updateHead(
  table: string,
  change: Change & { readonly before: Head },
  writeId: string,
): UpdateRequest {
  const { before, after, guard } = change
  if (guard.kind === 'counted') return countSuccess(table, change, guard)
  const isBeat = after.operation === 'beat'
  const paths = changedPaths(
    headItem(before),
    headItem(after),
    isBeat ? [OPERATION_ATTRIBUTE] : CHANGED_BY_BEATS,
  )
  const update = updateExpression(
    isBeat ? paths : { ...paths, set: [...paths.set, [[WRITE_ID_ATTRIBUTE], writeId]] },
  )
  const condition = guardExpression(guard)
  return {
    ...METERED,
    TableName: table,
    Key: headKey(after.id),
    UpdateExpression: update.text,
    ConditionExpression: condition.text,
    ExpressionAttributeNames: { ...update.names, ...condition.names },
    ExpressionAttributeValues: { ...update.values, ...condition.values },
    ReturnValues: isBeat ? 'ALL_NEW' : 'NONE',
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
  }
}

const NO_CHAIN_AS_FAR = [
  'attribute_not_exists(#looks)',
  '#looks.#rev <> :rev',
  '#looks.#hops < :hops',
  '#looks.#until < :now',
  '#looks.#name = :name',
].join(' OR ')

/**
 * Records how far a chain of looks is; each look sends the next. Guard: birth and revision are those seen, and no other chain of
 * this revision whose record holds at `now` is as far.
 */
export function recordLook(
  table: string,
  { id, born, revision }: Pick<Head, 'id' | 'born' | 'revision'>,
  { hops, name, until }: LookRecord,
  now: number,
): UpdateRequest {
  return {
    ...METERED,
    TableName: table,
    Key: headKey(id),
    UpdateExpression: 'SET #looks = :looks, #op = :beat',
    ConditionExpression: ['#born = :born', '#rev = :rev', `(${NO_CHAIN_AS_FAR})`].join(JOINED_BY_AND),
    ExpressionAttributeNames: {
      '#born': 'born',
      '#rev': 'rev',
      '#op': OPERATION_ATTRIBUTE,
      '#looks': 'looks',
      '#hops': 'hops',
      '#until': 'until',
      '#name': 'name',
    },
    ExpressionAttributeValues: {
      ':born': born,
      ':rev': revision,
      ':looks': { rev: revision, hops, name, until },
      ':beat': BEAT_OPERATION,
      ':hops': hops,
      ':now': now,
      ':name': name,
    },
  }
}
