import type { LineEntry } from '../../core/change/entering.ts'
import { BatonError } from '../../core/errors.ts'
import { lineName } from '../../core/fair/fair.ts'
import type { TenantTurns, TurnStore } from '../../ports/stores.ts'
import type { System } from '../kernel/system.ts'

/** The last turn of a tenant lies in the past by then, or its first task has waited for a week. */
const TURNS_LIFE_MS = 7 * 86_400_000
/** A tenant that joined a line so far beyond its front joined while the index showed nothing of those who waited. */
const FAR_TURNS = 10_000
/** Each lost round means that another process reserved turns for the same tenant. */
const MAX_ROUNDS = 20
const MAX_ENTRIES = 1_000
/** Of a tenant, turns that were reserved and not used. */
const MAX_SPARE = 100

type Tenant = Pick<LineEntry, 'line' | 'tenant'>

type Asking = { readonly front: number; resolve(turn: number): void; reject(error: unknown): void }

/** What a process remembers of the tenants for whom it reserves turns, by line and tenant. */
type Book = {
  readonly known: Map<string, TenantTurns>
  readonly spare: Map<string, number[]>
  readonly asking: Map<string, Asking[]>
}

const books = new WeakMap<TurnStore, Book>()

function bookOf({ turns }: Pick<System, 'turns'>): Book {
  const book = books.get(turns) ?? { known: new Map(), spare: new Map(), asking: new Map() }
  books.set(turns, book)
  return book
}

/** Of a fairness key that is no well-formed text, DynamoDB takes no key. */
function nameOf({ line, tenant }: Tenant): string {
  return `${lineName(line)}#${tenant.toWellFormed()}`
}

/**
 * Reserves the next turn of a tenant, none before `front`. Tasks of one tenant that ask in a process at one time share a
 * write, and get their turns in the order in which they ask.
 */
export async function reserveTurn(system: System, tenant: Tenant, front: number): Promise<number> {
  const book = bookOf(system)
  const name = nameOf(tenant)
  const spare = book.spare.get(name)?.shift()
  if (spare !== undefined && spare >= front) return spare
  return new Promise((resolve, reject) => {
    const asking = book.asking.get(name)
    book.asking.set(name, [...(asking ?? []), { front, resolve, reject }])
    if (!asking) void serve(system, name, book)
  })
}

/** Keeps a turn that was reserved and not used for the tenant's next task. */
export function giveTurnBack(system: System, tenant: Tenant, turn: number): void {
  const { spare } = bookOf(system)
  const name = nameOf(tenant)
  if (spare.size >= MAX_ENTRIES) spare.clear()
  spare.set(name, [...(spare.get(name) ?? []), turn].sort((a, b) => a - b).slice(0, MAX_SPARE))
}

async function serve(system: System, name: string, book: Book): Promise<void> {
  for (;;) {
    // Those who go on in the same moment, such as the tasks of a batch, ask before this goes on.
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

/** The first of `count` turns in a row. One write, unless another process reserves for the same tenant just now. */
async function reserve(system: System, name: string, { known }: Book, wanted: Wanted): Promise<number> {
  let stored = known.get(name) ?? (await system.turns.of(name))
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const { first, now } = await attempt(system, name, stored, wanted)
    if (known.size >= MAX_ENTRIES) known.clear()
    known.set(name, now)
    if (first !== undefined) return first
    stored = now
  }
  throw new BatonError('contended', `turns of ${name} were reserved by others all the time`)
}

/** The first turn, undefined when `stored` is not what is stored by now; `now` is. */
async function attempt(
  { turns, clock }: System,
  name: string,
  stored: TenantTurns | undefined,
  { count, front }: Wanted,
): Promise<{ readonly first: number | undefined; readonly now: TenantTurns }> {
  const expiresAt = clock.now() + TURNS_LIFE_MS
  const far = front + FAR_TURNS
  if (!stored || stored.last < front || stored.joined > far) {
    const present = await turns.join(name, { front, count, far }, expiresAt)
    if (present) return { first: undefined, now: present }
    return { first: front, now: { last: front + count - 1, joined: front } }
  }
  const now = await turns.advance(name, count, expiresAt)
  const first = now.last - count + 1
  // What expired meanwhile counts from 0.
  return { first: first >= front ? first : undefined, now }
}
