import { BatonError } from '../../core/errors.ts'
import { type TaskType, withTenants } from '../../core/types/task-type.ts'
import type { Json } from '../../core/values/json.ts'
import { MARKER_LIFE_MS, type Marker, WORKER_LIFE_MS, type Worker } from '../../core/worker/worker.ts'
import { assertKnownSchema, type Item, SCHEMA, ttlSeconds } from './documents.ts'
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

/** Translates task types, records, markers and workers into items, and back. `head/body-requests.ts` does so for run records. */

export function bodyFromItem(item: Item): Json {
  assertKnownSchema(item)
  return JSON.parse(item.json as string) as Json
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
 * The type in an item. When the type has got tenants since the item was last put whole, the attribute `fair` beside the JSON text
 * says so.
 *
 * @throws BatonError `newer-schema` for an item that newer code has written, and `unreadable` for one that no version of this
 * code writes.
 */
export function typeFromItem(item: Item): TaskType {
  assertKnownSchema(item)
  const type = storedType(item)
  if (item[FAIR_ATTRIBUTE] === undefined) return type
  return withTenants({ ...type, version: item[VERSION_ATTRIBUTE] as number })
}

function storedType(item: Item): TaskType {
  const why = (problem: string) => `the stored form of the type ${item.sk} cannot be read: ${problem}`
  if (!Number.isFinite(item[VERSION_ATTRIBUTE])) throw new BatonError('unreadable', why('it has no version'))
  if (typeof item.json !== 'string') throw new BatonError('unreadable', why('it has no JSON text'))
  try {
    return JSON.parse(item.json) as TaskType
  } catch (cause) {
    throw new BatonError('unreadable', why('its text is not JSON'), { cause })
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

/** The value of a record; undefined when it has expired. DynamoDB may delete expired items days late. */
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

/** The marker in an item; undefined when it has expired. */
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

/** The worker in an item; undefined when its last sign of life is too old. */
export function workerFromItem(item: Item, now: number): Worker | undefined {
  const isLive = (item.seen as number) + WORKER_LIFE_MS > now
  return isLive ? (bodyFromItem(item) as unknown as Worker) : undefined
}
