import type { BodyWrite, Change } from '../../../../shared/core/change/change.ts'
import { type Head, isTask } from '../../../../shared/core/task/head.ts'
import type { Applied, TaskStore } from '../../../../shared/ports/stores.ts'
import { createMemoryBodies, inOrderOfWriting } from '../../../../shared/testing/stores/bodies.ts'
import { createSeededChance } from '../../../../shared/testing/stores/chance.ts'
import { createMemoryHeads } from '../../../../shared/testing/stores/heads.ts'
import { entriesIn, pageOf } from '../../../../shared/testing/stores/index-pages.ts'
import type { Process } from '../process.ts'
import type { World } from '../world.ts'
import { createExpiry } from './expiry.ts'
import { createStrictStore } from './strict-store.ts'

/** The table with the tasks of a world. */
export type Table = {
  /** The store as one process reaches it. Bodies, head and records are written by separate calls. */
  storeFor(process: Process): TaskStore
  heads(): Iterable<Head>
  head(id: string): Head | undefined
}

const LAG_MS_MAX = 30
const STALE_LAG_MS_MAX = 5_000
const RESEND_AFTER_MS_MAX = 4_000

/** `onWrite` is called at the very instant at which a head is written. */
export function createTable(
  world: World,
  onWrite: (before: Head | undefined, after: Head, by: Process) => void,
): Table {
  const { timeline } = world
  const chance = createSeededChance(world.seedOf('table'))
  const strict = createStrictStore(world)
  const heads = createMemoryHeads()
  const { keep, ...bodies } = createMemoryBodies()
  /**
   * What each index and eventually consistent reads show. Each head reaches each of them with a lag of its own.
   */
  const shown = {
    view: new Map(),
    place: new Map(),
    owner: new Map(),
    reads: new Map<string, Head>(),
  } satisfies Record<string, Map<string, Head>>
  /** The number of writes with a token of each head; it identifies the last such write. */
  const tokens = new Map<string, number>()

  /** How many writes of heads there have been. */
  let written = 0
  const dropped = new Map<string, number>()

  const showLater = (task: Head) => {
    written += 1
    const order = written
    for (const view of Object.values<Map<string, Head>>(shown)) {
      const isStale = chance.fraction() < world.weather().staleIndex
      timeline.at(timeline.now() + chance.fraction() * (isStale ? STALE_LAG_MS_MAX : LAG_MS_MAX), () => {
        const current = view.get(task.id)
        // A write from before a deletion is not shown after it.
        if (order <= (dropped.get(task.id) ?? 0)) return
        if (!current || isNewer(task, current)) view.set(task.id, task)
      })
    }
  }
  /** The number of entries in a page. DynamoDB may end a page early. */
  const pageLimit = (most: number) => {
    const limit = Math.min(most, world.scenario.conditions?.pageMax ?? most)
    return chance.fraction() < world.weather().staleIndex ? 1 + Math.floor(chance.fraction() * limit) : limit
  }
  const writeBodies = (id: string, written: readonly BodyWrite[]) => {
    for (const body of written) strict.ofBody(id, body)
    keep(id, written)
  }
  const expire = createExpiry(world, heads, id => {
    for (const view of Object.values<Map<string, Head>>(shown)) view.delete(id)
    dropped.set(id, written)
  })
  const write = (change: Change, by: Process) => {
    const before = heads.get(change.after.id)
    strict.ofHead(change)
    const applied = heads.write(change)
    const after = heads.get(change.after.id)
    if (applied.applied && after) {
      if (hasToken(change)) tokens.set(after.id, (tokens.get(after.id) ?? 0) + 1)
      showLater(after)
      expire(after)
      onWrite(before, after, by)
    }
    return applied
  }

  /**
   * Writes a head. When the answer is lost, the SDK sends the same write again. It recognises its own write by
   * its token; heartbeats and counted successes have none.
   */
  const writeOnceOrTwice = async (process: Process, operation: string, change: Change): Promise<Applied> => {
    const { id, born } = change.after
    const first = await process.call(operation, () => ({
      answer: write(change, process),
      token: tokens.get(id),
    }))
    if (!process.suffers('answerLost')) return first.answer
    await process.clock.sleep(chance.fraction() * RESEND_AFTER_MS_MAX)
    return process.call(`${operation} once more`, () => {
      const head = heads.get(id)
      const isOwnBirth = head?.born === born && born !== change.before?.born
      const isOwnWrite =
        hasToken(change) && first.answer.applied && (tokens.get(id) === first.token || isOwnBirth)
      return isOwnWrite && head ? { applied: true, head: head } : write(change, process)
    })
  }

  return {
    heads: heads.all,
    head: heads.get,
    storeFor: process => ({
      head: id => process.call(`read ${id}`, () => heads.get(id)),
      bury: async () => false,
      heads: ids =>
        process.call(`read ${ids.length} heads`, () =>
          [...new Set(ids)].flatMap(id => shown.reads.get(id) ?? []),
        ),
      apply: async change => {
        const { id, operation } = change.after
        const { beforeHead, afterHead } = inOrderOfWriting(change.bodies)
        if (beforeHead.length > 0)
          await process.call(`write bodies of ${id}`, () => writeBodies(id, beforeHead))
        const applied = await writeOnceOrTwice(process, `${operation} ${id}`, change)
        // As in the adapter: when a record cannot be written, only a detail of the history is missing.
        if (applied.applied && afterHead.length > 0) {
          await process
            .call(`write records of ${id}`, () => writeBodies(id, afterHead))
            .catch(() => undefined)
        }
        return applied
      },
      recordLook: (task, record, now) =>
        process.call(`record a look at ${task.id}`, () => {
          const isRecorded = heads.recordLook(task, record, now)
          const head = heads.get(task.id)
          if (isRecorded && head) showLater(head)
          return isRecorded
        }),
      body: (id, ref) => process.call(`read a body of ${id}`, () => bodies.body(id, ref)),
      renewBody: (id, ref, expiresAt) =>
        process.call(`renew a body of ${id}`, () => bodies.renewBody(id, ref, expiresAt)),
      dropBodies: (id, dropped) => process.call(`drop bodies of ${id}`, () => bodies.dropBodies(id, dropped)),
      runRecords: (id, born, limit) =>
        process.call(`read records of ${id}`, () => bodies.runRecords(id, born, limit)),
      page: query =>
        process.call(`read ${query.partition}`, () =>
          pageOf(shown[query.index].values(), { ...query, limit: pageLimit(query.limit) }),
        ),
      count: range =>
        process.call(`count ${range.partition}`, () => entriesIn(shown[range.index].values(), range).length),
    }),
  }
}

/** Whether a write carries a token. As in the adapter, writes that only their run guards carry none. */
function hasToken({ guard, after }: Change): boolean {
  return guard.kind !== 'counted' && after.operation !== 'beat'
}

/**
 * Whether a head is newer than another. Heartbeats do not change the revision, so of two heads with one
 * revision the later lease decides.
 */
function isNewer(task: Head, current: Head): boolean {
  if (task.revision !== current.revision) return task.revision > current.revision
  return latestLease(task) >= latestLease(current)
}

function latestLease(head: Head): number {
  const live = isTask(head) ? head.live : {}
  return Math.max(0, ...Object.values(live).map(({ leaseUntil }) => leaseUntil))
}
