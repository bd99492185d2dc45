import { BatonError } from '../../core/errors.ts'
import type { Json } from '../../core/json.ts'
import type { BodyWrite } from '../../core/task/body.ts'
import type { EndedRun } from '../../core/task/task.ts'
import { type TaskType, withTenants } from '../../core/types/task-type.ts'
import { MARKER_LIFE_MS, type Marker, WORKER_LIFE_MS, type Worker } from '../../core/worker/worker.ts'
import { type EndedValue, endedFrom, endedValue } from './head/run-values.ts'
import {
  FAIR_ATTRIBUTE,
  RECORD_SORT_KEY,
  recordPartition,
  TYPES_PARTITION,
  targetPartition,
  VERSION_ATTRIBUTE,
  WORKERS_PARTITION,
  workerOfTarget,
} from './keys.ts'
import { assertKnownSchema, type Item, SCHEMA, ttlSeconds } from './stored-form.ts'

/** All items that are no heads, and back: bodies, run records, task types, records of the machinery, markers, workers. */

/** An input, a result, or the record of an ended run. */
export function bodyItem(id: string, write: BodyWrite): Item {
  const key = { pk: id, sk: write.ref, ...SCHEMA, ttl: ttlSeconds(write.expiresAt) }
  return 'run' in write
    ? { ...key, fence: write.run.fence, run: endedValue(write.run) }
    : { ...key, json: JSON.stringify(write.value) }
}

export function bodyFromItem(item: Item): Json {
  assertKnownSchema(item)
  return JSON.parse(item.json as string) as Json
}

export function runFromItem(item: Item): EndedRun {
  assertKnownSchema(item)
  return endedFrom(item.fence as number, item.run as EndedValue)
}

export function typeItem(type: TaskType): Item {
  return {
    pk: TYPES_PARTITION,
    sk: type.type,
    ...SCHEMA,
    version: type.version,
    json: JSON.stringify(type),
  }
}

/**
 * A type that got tenants since it was last put says so beside its JSON text.
 *
 * @throws BatonError `newer-schema` for an item that newer code has written, and `unreadable` for one that no code has.
 */
export function typeFromItem(item: Item): TaskType {
  assertKnownSchema(item)
  const type = storedType(item)
  if (item[FAIR_ATTRIBUTE] === undefined) return type
  return withTenants({ ...type, version: item[VERSION_ATTRIBUTE] as number })
}

function storedType(item: Item): TaskType {
  const why = (problem: string) => `what is stored of the type ${item.sk} cannot be read: ${problem}`
  if (!Number.isFinite(item[VERSION_ATTRIBUTE])) throw new BatonError('unreadable', why('it has no version'))
  if (typeof item.json !== 'string') throw new BatonError('unreadable', why('it has no JSON text'))
  try {
    return JSON.parse(item.json) as TaskType
  } catch (cause) {
    throw new BatonError('unreadable', why('its JSON text is none'), { cause })
  }
}

export function recordItem(name: string, value: Json, expiresAt: number): Item {
  return {
    pk: recordPartition(name),
    sk: RECORD_SORT_KEY,
    ...SCHEMA,
    json: JSON.stringify(value),
    expires: expiresAt,
    ttl: ttlSeconds(expiresAt),
  }
}

/** The record, unless it has expired (DynamoDB deletes it days later). */
export function recordFromItem(item: Item, now: number): Json | undefined {
  return (item.expires as number) > now ? bodyFromItem(item) : undefined
}

export function markerItem({ workerId, taskId, born, revision }: Marker, now: number): Item {
  const expires = now + MARKER_LIFE_MS
  return {
    pk: targetPartition(workerId),
    sk: taskId,
    ...SCHEMA,
    born,
    rev: revision,
    expires,
    ttl: ttlSeconds(expires),
  }
}

/** The marker, unless it has expired. */
export function markerFromItem(item: Item, now: number): Marker | undefined {
  assertKnownSchema(item)
  if ((item.expires as number) <= now) return undefined
  return {
    workerId: workerOfTarget(item.pk as string),
    taskId: item.sk as string,
    born: item.born as string,
    revision: item.rev as number,
  }
}

export function workerItem(worker: Worker): Item {
  return {
    pk: WORKERS_PARTITION,
    sk: worker.workerId,
    ...SCHEMA,
    kind: worker.kind,
    started: worker.startedAt,
    seen: worker.lastSeen,
    json: JSON.stringify(worker),
    ttl: ttlSeconds(worker.lastSeen + WORKER_LIFE_MS),
  }
}

/** The worker, if it has shown a sign of life lately. */
export function workerFromItem(item: Item, now: number): Worker | undefined {
  const isLive = (item.seen as number) + WORKER_LIFE_MS > now
  return isLive ? (bodyFromItem(item) as unknown as Worker) : undefined
}
