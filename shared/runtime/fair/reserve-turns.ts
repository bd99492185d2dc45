import { BatonError } from '../../core/errors.ts'
import { lineName } from '../../core/place/claim-order.ts'
import type { LineEntry } from '../../core/place/place.ts'
import type { TenantTurns } from '../../ports/stores.ts'
import type { System } from '../kernel/system.ts'
import { processMemory } from '../kernel/timed-cache.ts'

/** A tenant's item expires after this time. By then its last turn is past, or its first task has waited for a week. */
const TURNS_LIFE_MS = 7 * 86_400_000
/**
 * A tenant that joined more than this many turns beyond the front did so while the index did not show the waiting
 * tasks. It joins again.
 */
const FAR_TURNS = 10_000
/** A round is one try to reserve turns. It is lost when another process was faster for the same tenant. */
const ROUNDS_MAX = 20
const CACHED_TENANTS_MAX = 1_000
/** At most this many unused turns of a tenant are kept. */
const SPARE_TURNS_MAX = 100

type Tenant = Pick<LineEntry, 'line' | 'tenant'>

type Asking = { readonly front: number; resolve(turn: number): void; reject(error: unknown): void }

/** What a process remembers of the tenants that it reserves turns for, by line and tenant. */
const bookOf = processMemory(() => ({
  known: new Map<string, TenantTurns>(),
  spare: new Map<string, number[]>(),
  asking: new Map<string, Asking[]>(),
}))

type Book = ReturnType<typeof bookOf>

/** The name of a tenant's item. DynamoDB takes no ill-formed text in a key, so the tenant is made well-formed. */
function nameOf({ line, tenant }: Tenant): string {
  return `${lineName(line)}#${tenant.toWellFormed()}`
}

/**
 * Reserves the next turn of a tenant, but none before `front`. Concurrent calls for one tenant in a process share a write,
 * and get their turns in the order of the calls.
 */
export async function reserveTurn(system: System, tenant: Tenant, front: number): Promise<number> {
  const book = bookOf(system.turns)
  const name = nameOf(tenant)
  const spare = book.spare.get(name)?.shift()
  if (spare !== undefined && spare >= front) return spare
  return new Promise((resolve, reject) => {
    const asking = book.asking.get(name)
    book.asking.set(name, [...(asking ?? []), { front, resolve, reject }])
    if (!asking) void serve(system, name, book)
  })
}

/** Keeps an unused turn for the tenant's next task. */
export function giveTurnBack(system: System, tenant: Tenant, turn: number): void {
  const { spare } = bookOf(system.turns)
  const name = nameOf(tenant)
  if (spare.size >= CACHED_TENANTS_MAX) spare.clear()
  spare.set(name, [...(spare.get(name) ?? []), turn].sort((a, b) => a - b).slice(0, SPARE_TURNS_MAX))
}

async function serve(system: System, name: string, book: Book): Promise<void> {
  for (;;) {
    // Callers that resume at the same moment, such as the tasks of a batch, join this write.
    await Promise.resolve()
    const asking = book.asking.get(name) ?? []
    if (asking.length === 0) break
    book.asking.set(name, [])
    const front = Math.max(...asking.map(one => one.front))
    try {
      const first = await reserve(system, name, book, { count: asking.length, front })
      for (const [nth, { resolve }] of asking.entries()) resolve(first + nth)
    } catch (error) {
      for (const { reject } of asking) reject(error)
    }
  }
  book.asking.delete(name)
}

type Wanted = { readonly count: number; readonly front: number }

/**
 * Reserves `count` turns in a row and returns the first. Costs one write, unless another process reserves at the same
 * time.
 */
async function reserve(system: System, name: string, { known }: Book, wanted: Wanted): Promise<number> {
  let stored = known.get(name) ?? (await system.turns.of(name))
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const { first, current } = await attempt(system, name, stored, wanted)
    if (known.size >= CACHED_TENANTS_MAX) known.clear()
    known.set(name, current)
    if (first !== undefined) return first
    stored = current
  }
  throw new BatonError(
    'contended',
    `no turn of ${name} was reserved: other processes were faster at every try`,
  )
}

/** One attempt: the first turn, and the state that is stored afterwards. The turn is undefined when `stored` was outdated. */
async function attempt(
  { turns, clock }: System,
  name: string,
  stored: TenantTurns | undefined,
  { count, front }: Wanted,
): Promise<{ readonly first: number | undefined; readonly current: TenantTurns }> {
  const expiresAt = clock.now() + TURNS_LIFE_MS
  const far = front + FAR_TURNS
  if (!stored || stored.last < front || stored.joined > far) {
    const joinedByAnother = await turns.join(name, { front, count, far }, expiresAt)
    if (joinedByAnother) return { first: undefined, current: joinedByAnother }
    return { first: front, current: { last: front + count - 1, joined: front } }
  }
  const current = await turns.advance(name, count, expiresAt)
  const first = current.last - count + 1
  // An item that expired meanwhile counts from 0 again.
  return { first: first >= front ? first : undefined, current }
}
