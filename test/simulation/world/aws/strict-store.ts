import { addEnds } from '../../../../shared/aws/dynamo/canvas/canvas-requests.ts'
import { putBody } from '../../../../shared/aws/dynamo/head/body-requests.ts'
import { putHead, updateHead } from '../../../../shared/aws/dynamo/head/head-requests.ts'
import { headItem } from '../../../../shared/aws/dynamo/head/items.ts'
import { acquirePermit, putLine, putSlots } from '../../../../shared/aws/dynamo/limits/limit-requests.ts'
import { putRecord } from '../../../../shared/aws/dynamo/records/record-requests.ts'
import { putType } from '../../../../shared/aws/dynamo/types/type-requests.ts'
import { putMarker } from '../../../../shared/aws/dynamo/worker/target-requests.ts'
import type { BodyWrite, Change } from '../../../../shared/core/change/change.ts'
import { type Head, isTask } from '../../../../shared/core/task/head.ts'
import type {
  CanvasStore,
  LimitStore,
  RecordStore,
  Targets,
  TypeStore,
} from '../../../../shared/ports/stores.ts'
import type { World } from '../world.ts'
import { problemOf, type Request } from './dynamo-rules.ts'

/**
 * A store that refuses what DynamoDB would refuse whatever the table holds. It checks the requests that the
 * adapters would send.
 */
export type StrictStore = {
  /** @throws Error for a write of a head that DynamoDB would refuse. */
  ofHead(change: Change): void
  /** @throws Error for a body or a record that DynamoDB would refuse. */
  ofBody(id: string, body: BodyWrite): void
  /** The same stores, which refuse what DynamoDB would refuse. */
  stores(kept: Stores): Stores
}

type Stores = {
  readonly limits: LimitStore
  readonly records: RecordStore
  readonly targets: Targets
  readonly types: TypeStore
  readonly canvases: CanvasStore
}

const TABLE = 'tasks'
const WRITE_ID = 'write-id'
/**
 * One in this many ordinary runs is strict, and every trial. Building the requests takes a quarter of a run's
 * time.
 */
const STRICT_EVERY = 5

export function createStrictStore({ scenario, history, timeline }: World): StrictStore {
  const isChecked = scenario.trial !== undefined || scenario.seed % STRICT_EVERY === 0
  const check: Check = (what, requestOf) => {
    const problem = isChecked ? problemOf(requestOf()) : undefined
    if (problem === undefined) return
    const why = `${what}: ${problem}`
    history.record({ at: timeline.now(), by: 'the table', what: 'refused', why })
    throw new Error(`the store refuses ${why}`)
  }
  return {
    ofHead: change => {
      const { after } = change
      check(after.id, () => requestOfHead(change))
      if (change.before && isLarge(after)) check(after.id, () => ({ Item: { ...headItem(after) } }))
    },
    ofBody: (id, body) => check(`a body of ${id}`, () => putBody(TABLE, id, body)),
    stores: ({ limits, records, targets, types, canvases }) => ({
      limits: strictLimits(limits, check),
      records: strictRecords(records, check),
      targets: strictTargets(targets, timeline.now, check),
      types: strictTypes(types, check),
      canvases: strictCanvases(canvases, check),
    }),
  }
}

/** @throws Error when DynamoDB would refuse the request. */
type Check = (what: string, requestOf: () => Request) => void

function requestOfHead(change: Change): Request {
  const { before } = change
  return before ? updateHead(TABLE, { ...change, before }, WRITE_ID) : putHead(TABLE, change, WRITE_ID)
}

/** Whether the head has many runs. Only such heads come near the largest item. */
function isLarge(head: Head): boolean {
  if (!isTask(head)) return false
  const { live, ended, failuresBy } = head
  return [live, ended, failuresBy].some(map => Object.keys(map).length > 20)
}

function strictLimits(store: LimitStore, check: Check): LimitStore {
  return {
    ...store,
    putSlots: async (limit, log, seen, expiresAt) => {
      check(`the slots of ${limit}`, () =>
        putSlots(TABLE, limit, log, { version: seen.version, expiresAt, writeId: WRITE_ID }),
      )
      return store.putSlots(limit, log, seen, expiresAt)
    },
    acquire: async (limit, holder, max) => {
      check(`a permit of ${limit}`, () => acquirePermit(TABLE, limit, holder, max))
      return store.acquire(limit, holder, max)
    },
    putLine: async (line, note, seen, report = { isNoted: false }) => {
      const write = { ...report, version: seen.version, writeId: WRITE_ID }
      check(`the line of ${line.limit}`, () => putLine(TABLE, line, note, write))
      return store.putLine(line, note, seen, report)
    },
  }
}

function strictRecords(store: RecordStore, check: Check): RecordStore {
  return {
    ...store,
    put: async (name, value, expiresAt) => {
      check(`the record ${name}`, () => putRecord(TABLE, name, value, expiresAt))
      return store.put(name, value, expiresAt)
    },
    putNew: async (name, value, expiresAt) => {
      check(`the record ${name}`, () => putRecord(TABLE, name, value, expiresAt))
      return store.putNew(name, value, expiresAt)
    },
  }
}

function strictTargets(store: Targets, now: () => number, check: Check): Targets {
  return {
    ...store,
    mark: async marker => {
      check(`the marker of ${marker.taskId}`, () => putMarker(TABLE, marker, now()))
      return store.mark(marker)
    },
  }
}

function strictTypes(store: TypeStore, check: Check): TypeStore {
  return {
    ...store,
    put: async (next, version) => {
      check(`the type ${next.type}`, () => putType(TABLE, next, version))
      return store.put(next, version)
    },
  }
}

function strictCanvases(store: CanvasStore, check: Check): CanvasStore {
  return {
    ...store,
    addEnds: async (canvas, chunk, ends, expiresAt) => {
      check(`ends of ${canvas.canvasId}`, () => addEnds(TABLE, canvas, chunk, { ends, expiresAt }))
      return store.addEnds(canvas, chunk, ends, expiresAt)
    },
  }
}
