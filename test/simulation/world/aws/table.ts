import type { Documents, Item, Written } from '../../../../shared/aws/dynamo/documents.ts'
import { bodyFromItem } from '../../../../shared/aws/dynamo/documents.ts'
import { definitionNameIn, type HeadItem, taskFromItem } from '../../../../shared/aws/dynamo/head/items.ts'
import {
  DEFINITION_SORT_KEY,
  definitionPartition,
  HEAD_SORT_KEY,
  INDEXES,
  TTL_ATTRIBUTE,
} from '../../../../shared/aws/dynamo/keys.ts'
import type { FlowDefinition } from '../../../../shared/core/task/flow-state.ts'
import type { Head } from '../../../../shared/core/task/head.ts'
import { createSeededChance } from '../../../../shared/testing/stores/chance.ts'
import { MEMORY_TABLE } from '../../../../shared/testing/stores/memory-stores.ts'
import type { ItemChange, Replica } from '../../../../shared/testing/table/contents.ts'
import { createMemoryTable, type TableSettings } from '../../../../shared/testing/table/memory-table.ts'
import { DAMAGES, type DamageName } from '../damage.ts'
import type { Process } from '../process.ts'
import type { World } from '../world.ts'

/** The table of a world: a table in memory whose requests meet the weather. */
export type Table = {
  /** The requests of the stores as one process sends them. */
  documentsFor(process: Process): Documents
  heads(): Iterable<Head>
  head(id: string): Head | undefined
  /** The head in an item. */
  headIn(item: Item): Head
  /** Gives a stored head a form that the code cannot read. Until it is removed, it is none of `heads`. False when there is none. */
  damage(id: string, how: DamageName): boolean
  isDamaged(id: string): boolean
}

const LAG_MS_MAX = 30
const STALE_LAG_MS_MAX = 5_000
const RESEND_AFTER_MS_MAX = 4_000

/** `onWrite` is called at the very instant at which an item is written. `by` is undefined for an expired item. */
export function createTable(
  world: World,
  onWrite: (change: ItemChange, by: Process | undefined) => void,
): Table {
  const { timeline, history } = world
  const chance = createSeededChance(world.seedOf('table'))
  const decode = headDecoder((pk, sk) => memory.find(pk, sk))
  const heads = new Map<string, Item>()
  const damaged = new Set<string>()
  let writer: Process | undefined
  const memory = createMemoryTable({
    name: MEMORY_TABLE,
    spread: spreadLater(world, chance),
    onWrite: change => {
      const { key, after } = change
      if (key.sk === HEAD_SORT_KEY && after && !damaged.has(key.pk)) heads.set(key.pk, after)
      else if (key.sk === HEAD_SORT_KEY) heads.delete(key.pk)
      onWrite(change, writer)
      if (damaged.has(key.pk) && isTombstone(change)) {
        damaged.delete(key.pk)
        if (after) heads.set(key.pk, after)
      }
      expireLater(change)
    },
  })
  /** Deletes an item some time after its time to live, as DynamoDB does. */
  const expireLater = ({ key, after }: ItemChange) => {
    const { ttlLagMs } = world.scenario.conditions ?? {}
    const ttl = after?.[TTL_ATTRIBUTE]
    if (ttlLagMs === undefined || typeof ttl !== 'number') return
    timeline.at(ttl * 1_000 + chance.fraction() * ttlLagMs, () => {
      writer = undefined
      memory.expire(key, timeline.now())
    })
  }
  /** Carries a request out at this instant. What the table refuses is recorded, and in some scenarios every request. */
  const carryOut = async <T>(process: Process, what: string, request: () => Promise<T>): Promise<T> => {
    writer = process
    if (world.scenario.isMetered)
      history.record({ at: timeline.now(), by: process.name, what: 'request', request: what })
    try {
      return await request()
    } catch (error) {
      const why = `${what}: ${error instanceof Error ? error.message : error}`
      history.record({ at: timeline.now(), by: 'the table', what: 'refused', why })
      throw error
    }
  }
  const documentsFor = (process: Process): Documents => {
    const call = <T>(what: string, request: () => Promise<T>) =>
      process.call(what, () => carryOut(process, what, request))
    /** Sends a write. When its answer is lost, the SDK sends the same write again. */
    const write = async (what: string, request: () => Promise<Written>): Promise<Written> => {
      const answer = await call(what, request)
      if (!process.suffers('answerLost')) return answer
      await process.clock.sleep(chance.fraction() * RESEND_AFTER_MS_MAX)
      return call(`${what} once more`, request)
    }
    const { documents } = memory
    return {
      get: request => call(`get ${nameOf(request.Key)}`, () => documents.get(request)),
      put: request => write(`put ${nameOf(request.Item)}`, () => documents.put(request)),
      update: request => write(`update ${nameOf(request.Key)}`, () => documents.update(request)),
      delete: request => write(`delete ${nameOf(request.Key)}`, () => documents.delete(request)),
      query: request =>
        call(`query ${partitionOf(request)}`, () =>
          documents.query({ ...request, ...pageOf(world, chance, request) }),
        ),
      batchGet: request =>
        call(`get a batch of ${keysIn(request).map(nameOf).join(', ')}`, () => documents.batchGet(request)),
    }
  }
  return {
    documentsFor,
    headIn: decode,
    damage: (id, how) => {
      const before = memory.find(id, HEAD_SORT_KEY)
      if (!before || damaged.has(id)) return false
      damaged.add(id)
      heads.delete(id)
      writer = undefined
      const parts = Object.entries({ ...before, ...DAMAGES[how] }).filter(([, part]) => part !== undefined)
      memory.write({ key: { pk: id, sk: HEAD_SORT_KEY }, before, after: Object.fromEntries(parts) })
      return true
    },
    isDamaged: id => damaged.has(id),
    heads: function* () {
      for (const item of heads.values()) yield decode(item)
    },
    head: id => {
      const item = heads.get(id)
      return item && decode(item)
    },
  }
}

function isTombstone({ key, after }: ItemChange): boolean {
  return key.sk === HEAD_SORT_KEY && (after === undefined || after.state === 'removed')
}

function nameOf({ pk, sk }: Item): string {
  return `${pk} ${sk}`
}

function keysIn({ RequestItems }: Parameters<Documents['batchGet']>[0]): readonly Item[] {
  return Object.values(RequestItems).flatMap(({ Keys }) => Keys)
}

type Query = Parameters<Documents['query']>[0]

function partitionOf({ ExpressionAttributeValues: values = {} }: Query): string {
  return String(Object.values(values)[0])
}

/** How many entries a page shows. DynamoDB may end a page early. */
function pageOf(
  world: World,
  chance: Chance,
  { Limit: most = 1_000, IndexName, Select }: Query,
): Pick<Query, 'Limit'> {
  const { pageMax } = world.scenario.conditions ?? {}
  const limit = Math.min(most, pageMax ?? most)
  if (IndexName === undefined || Select === 'COUNT') return pageMax === undefined ? {} : { Limit: limit }
  const isShort = chance.fraction() < world.weather().staleIndex
  return { Limit: isShort ? 1 + Math.floor(chance.fraction() * limit) : limit }
}

type Chance = ReturnType<typeof createSeededChance>

/**
 * Shows each change in each replica with a lag of its own. A change is not shown in a replica that already shows
 * a later one.
 */
function spreadLater(world: World, chance: Chance): NonNullable<TableSettings['spread']> {
  const { timeline } = world
  const shown = { view: new Map(), place: new Map(), owner: new Map(), reads: new Map() } satisfies Record<
    Replica,
    Map<string, Shown>
  >
  let written = 0
  return ({ key, before, after }, show) => {
    written += 1
    const order = written
    const name = nameOf(key)
    for (const [replica, items] of Object.entries<Map<string, Shown>>(shown)) {
      if (key.sk !== HEAD_SORT_KEY && !replicates(replica as Replica, before, after)) continue
      const isStale = chance.fraction() < world.weather().staleIndex
      timeline.at(timeline.now() + chance.fraction() * (isStale ? STALE_LAG_MS_MAX : LAG_MS_MAX), () => {
        const present = items.get(name)
        if (present && present.order > order) return
        items.set(name, { order, item: after })
        show[replica as Replica](present?.item, after)
      })
    }
  }
}

/** Whether a write changes what the replica shows: an index shows only items with its keys. */
function replicates(replica: Replica, before: Item | undefined, after: Item | undefined): boolean {
  if (replica === 'reads') return true
  const { partition } = INDEXES[replica]
  return before?.[partition] !== undefined || after?.[partition] !== undefined
}

type Shown = { readonly order: number; readonly item: Item | undefined }

/** Decodes each stored head once. */
function headDecoder(find: (pk: string, sk: string) => Item | undefined): (item: Item) => Head {
  const decoded = new WeakMap<Item, Head>()
  const definitions = new Map<string, FlowDefinition>()
  const definitionOf = (name: string) => {
    const known = definitions.get(name)
    if (known) return known
    const item = find(definitionPartition(name), DEFINITION_SORT_KEY)
    if (!item) throw new Error(`the steps ${name} of a flow are not stored`)
    const definition = bodyFromItem(item) as unknown as FlowDefinition
    definitions.set(name, definition)
    return definition
  }
  return item => {
    const known = decoded.get(item)
    if (known) return known
    const name = definitionNameIn(item as HeadItem)
    const head = taskFromItem(item, name === undefined ? undefined : definitionOf(name))
    decoded.set(item, head)
    return head
  }
}
