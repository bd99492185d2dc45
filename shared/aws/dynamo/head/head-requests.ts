import { SCHEMA_VERSION } from '../../../core/bounds.ts'
import type { Change, Guard } from '../../../core/change.ts'
import type { Head } from '../../../core/task/head.ts'
import type { LookRecord } from '../../../core/wake.ts'
import { isMap } from '../attributes.ts'
import type { ChangedPaths, Expression, Item, Path, RequestOf } from '../documents.ts'
import { JOINED_BY_AND, namesOf, updateExpression } from '../documents.ts'
import { BEAT_OPERATION, HEAD_SORT_KEY, OPERATION_ATTRIBUTE } from '../keys.ts'
import { HEAD, headItem } from './items.ts'

/**
 * The attribute that holds the id of the last write of a head. A request that is repeated after a lost answer recognises its own write by
 * this id. Heartbeats carry no write id: repeating one changes nothing, and its id would hide the id of the write before.
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
export function getHead(table: string, id: string): RequestOf<'get'> {
  return { TableName: table, Key: headKey(id), ConsistentRead: true }
}

/** Reads the heads of at most 100 different ids. Eventually consistent. */
export function batchGetHeads(table: string, ids: readonly string[]): RequestOf<'batchGet'> {
  return { RequestItems: { [table]: { Keys: ids.map(headKey) } } }
}

/** Writes a new head. Guard: the change's own, which is that no head has this id. */
export function putHead(table: string, { after, guard }: Change, writeId: string): RequestOf<'put'> {
  const { text, names } = guardExpression(guard)
  return {
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
function countSuccess(table: string, { after }: Change, guard: CountedGuard): RequestOf<'update'> {
  const fence = String(guard.fence)
  const { ended, updated } = headItem(after)
  const condition = guardExpression(guard)
  return {
    TableName: table,
    Key: headKey(after.id),
    UpdateExpression:
      'SET #ended.#fence = :run, #op = :op, #updated = :updated, #rev = #rev + :one REMOVE #live.#fence',
    ConditionExpression: condition.text,
    ExpressionAttributeNames: {
      ...{ ...condition.names, ...namesOf('updated', 'rev') },
      '#op': OPERATION_ATTRIBUTE,
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
): RequestOf<'update'> {
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
): RequestOf<'update'> {
  return {
    TableName: table,
    Key: headKey(id),
    UpdateExpression: 'SET #looks = :looks, #op = :beat',
    ConditionExpression: ['#born = :born', '#rev = :rev', `(${NO_CHAIN_AS_FAR})`].join(JOINED_BY_AND),
    ExpressionAttributeNames: {
      ...namesOf('born', 'rev', 'looks', 'hops', 'until', 'name'),
      '#op': OPERATION_ATTRIBUTE,
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

/**
 * The paths to write so that `before` becomes `after`: exactly those that differ, and `always`, which may differ in the store
 * though they do not differ here. A map that is absent or empty on one side is written or removed whole, because DynamoDB
 * refuses a path into a missing map.
 */
export function changedPaths(before: Item, after: Item, always: readonly string[] = []): ChangedPaths {
  const set: Array<readonly [Path, unknown]> = []
  const remove: Path[] = []

  // `levels`: how many levels of keys below a path are paths of their own. `descend` without `levels` is at the top of the item.
  const compare = (path: Path, from: unknown, to: unknown, levels: number) => {
    const isByEntry = levels > 0 && hasEntries(from) && hasEntries(to) && !isWrittenWhole(path, from, to)
    if (isByEntry) return descend(path, from, to, levels - 1)
    const isAlwaysWritten = path.length === 1 && always.includes(path[0] ?? '')
    if (!isAlwaysWritten && JSON.stringify(from) === JSON.stringify(to)) return
    if (to === undefined) remove.push(path)
    else set.push([path, to])
  }
  const descend = (path: Path, from: Item, to: Item, levels?: number) => {
    const names = new Set([...Object.keys(from), ...Object.keys(to), ...(levels === undefined ? always : [])])
    for (const name of names) {
      compare([...path, name], from[name], to[name], levels ?? HEAD.paths[name]?.levels ?? 0)
    }
  }

  descend([], before, after)
  return { set, remove }
}

function isWrittenWhole([name = '', ...below]: Path, from: Item, to: Item): boolean {
  const most = below.length === 0 ? HEAD.paths[name]?.differingMax : undefined
  if (most === undefined) return false
  const entries = new Set([...Object.keys(from), ...Object.keys(to)])
  const differing = [...entries].filter(key => JSON.stringify(from[key]) !== JSON.stringify(to[key]))
  return differing.length > most
}

function hasEntries(value: unknown): value is Item {
  return isMap(value) && Object.keys(value).length > 0
}

const NOTHING_THERE = 'attribute_not_exists(#pk)'
const SAME_BIRTH = '#born = :born'
const SAME_REVISION = '#rev = :rev'
const STILL_LIVE = 'attribute_exists(#live.#fence)'
/** A path into a map requires that the map exists. Heads that were written before counted changes existed may lack it. */
const HAS_ENDED_RUNS = 'attribute_exists(#ended)'
/** The guards of a live run name no revision. They must not let older code change an item of newer code. */
const KNOWN_SCHEMA = '#v <= :schema'

/** The condition under which a guard holds. */
export function guardExpression(guard: Guard): Expression {
  switch (guard.kind) {
    case 'absent':
      return { text: NOTHING_THERE, names: { '#pk': 'pk' }, values: {} }
    case 'revision':
      return revisionGuard(guard)
    case 'live':
      return {
        text: [SAME_BIRTH, STILL_LIVE, KNOWN_SCHEMA].join(JOINED_BY_AND),
        ...liveNames(guard),
      }
    case 'counted':
      return {
        text: [SAME_BIRTH, STILL_LIVE, HAS_ENDED_RUNS, KNOWN_SCHEMA].join(JOINED_BY_AND),
        ...liveNames(guard, { '#ended': 'ended' }),
      }
  }
}

function liveNames(
  { born, fence }: Extract<Guard, { fence: number }>,
  more: Readonly<Record<string, string>> = {},
): Pick<Expression, 'names' | 'values'> {
  return {
    names: { '#born': 'born', '#live': 'live', '#fence': String(fence), '#v': 'v', ...more },
    values: { ':born': born, ':schema': SCHEMA_VERSION },
  }
}

function revisionGuard({ born, revision, leases }: Extract<Guard, { kind: 'revision' }>): Expression {
  const leasesAsJudged = leases.map((_, index) => `#live.#fence${index}.#lease = :lease${index}`)
  const fences = leases.map(({ fence }, index) => [`#fence${index}`, String(fence)])
  return {
    text: [SAME_BIRTH, SAME_REVISION, ...leasesAsJudged].join(JOINED_BY_AND),
    names: {
      '#born': 'born',
      '#rev': 'rev',
      ...(leases.length > 0 && { '#live': 'live', '#lease': 'lease', ...Object.fromEntries(fences) }),
    },
    values: {
      ':born': born,
      ':rev': revision,
      ...Object.fromEntries(leases.map(({ leaseUntil }, index) => [`:lease${index}`, leaseUntil])),
    },
  }
}
