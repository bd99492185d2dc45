import { type DamageName, isOfNewerCode } from '../../world/damage.ts'
import type { HistoryEvent } from '../../world/history.ts'
import type { SeenHead } from '../../world/seen-head.ts'
import type { Invariant } from '../invariant.ts'

const LOG_PERIOD_MS = 60_000
const LAG_MS_MAX = 1_000

type Read = Extract<HistoryEvent, { readonly what: 'read' }>

/** Promises about heads that this code cannot read: damaged ones, and heads of newer code. */
export const DAMAGED_HEAD_INVARIANTS: readonly Invariant[] = [
  ofTrial('a head that cannot be read is answered with its id and the reason', () => {
    const damaged = createDamaged()
    return event => {
      damaged.see(event)
      if (event.what !== 'read') return undefined
      const { operation, params, status } = event
      if (operation === 'list') return problemOfList(event, damaged)
      const how = damaged.during(event)
      if (how === undefined) return status < 500 ? undefined : `${params.id} is answered ${status}`
      return operation === 'remove' && !isOfNewerCode(how)
        ? problemOfRemoval(event)
        : problemOfRefusal(event, how)
    }
  }),
  ofTrial('a head that newer code has written is never changed', () => {
    const damaged = createDamaged()
    return event => {
      const how = 'id' in event ? damaged.of(event.id) : undefined
      damaged.see(event)
      const isChange = event.what === 'touched' || event.what === 'buried'
      return isChange && how !== undefined && isOfNewerCode(how) ? `${event.id} was changed` : undefined
    }
  }),
  ofTrial('a removed head keeps its birth, revision and fence as far as it had them', () => {
    const last = new Map<string, SeenHead>()
    const damaged = createDamaged()
    return event => {
      if (event.what === 'write') last.set(event.after.id, event.after)
      const how = event.what === 'buried' ? damaged.of(event.id) : undefined
      damaged.see(event)
      if (event.what !== 'buried') return undefined
      const lost = lostBy(last.get(event.id), event.after, how)
      return lost && `the ${lost} of ${event.id} was lost by its removal`
    }
  }),
  ofTrial('a process logs a head that it leaves out, and at most once a minute', () => {
    const loggedAt = new Map<string, number>()
    return event => {
      if (event.what !== 'left-out') return undefined
      const name = `${event.by} ${event.id}`
      const before = loggedAt.get(name) ?? Number.NEGATIVE_INFINITY
      loggedAt.set(name, event.at)
      return event.at - before < LOG_PERIOD_MS - 1 ? `${name} was logged twice within a minute` : undefined
    }
  }),
]

/** An invariant of the scenarios that damage heads. It costs the others nothing. */
function ofTrial(name: string, watch: () => (event: HistoryEvent) => string | undefined): Invariant {
  return { name, watch: ({ trial }) => (trial === 'damaged-heads' ? { on: watch() } : {}) }
}

type Spell = { readonly how: DamageName; readonly from: number; until: number }

/** Which heads are damaged, and when they were. */
function createDamaged() {
  const spells = new Map<string, Spell>()
  const logged = new Set<string>()
  const now = Number.POSITIVE_INFINITY
  return {
    see: (event: HistoryEvent) => {
      if (event.what === 'damaged') spells.set(event.id, { how: event.how, from: event.at, until: now })
      const spell = event.what === 'buried' ? spells.get(event.id) : undefined
      if (spell) spell.until = event.at
      if (event.what === 'left-out') logged.add(event.id)
    },
    /** How the head is damaged, if that was so before this time. Reads of a list show a write with a lag. */
    since: (id: string, time: number): DamageName | undefined => {
      const spell = spells.get(id)
      return spell?.until === now && spell.from < time - LAG_MS_MAX ? spell.how : undefined
    },
    of: (id: string): DamageName | undefined => {
      const spell = spells.get(id)
      return spell?.until === now ? spell.how : undefined
    },
    /** How the head was damaged when the question came, unless it was repaired or damaged until the answer. */
    during: ({ params, from, at, operation }: Read): DamageName | undefined => {
      const spell = spells.get(params.id ?? '')
      const until = operation === 'remove' ? from : at
      return spell && spell.from <= from && spell.until >= until ? spell.how : undefined
    },
    /** A head that was damaged before this time, and that no process has logged. */
    unlogged: (time: number): string | undefined =>
      [...spells].find(
        ([id, { until, from }]) => until === now && from < time - LAG_MS_MAX && !logged.has(id),
      )?.[0],
  }
}

type Damaged = ReturnType<typeof createDamaged>

function problemOfList({ status, body, from, query }: Read, damaged: Damaged): string | undefined {
  if (status !== 200) return `a list is answered ${status}`
  const { items } = body as { readonly items: ReadonlyArray<{ readonly id: string }> }
  const shown = items.find(({ id }) => damaged.since(id, from) !== undefined)
  if (shown) return `${shown.id} is listed although it cannot be read`
  const silent = query.status === undefined ? damaged.unlogged(from) : undefined
  return silent && `${silent} is left out of a list, and no process has logged that`
}

function problemOfRemoval({ status, params }: Read): string | undefined {
  // Another caller may have removed it.
  return status === 204 || status === 404 ? undefined : `the removal of ${params.id} is answered ${status}`
}

function problemOfRefusal({ operation, params, status, body }: Read, how: DamageName): string | undefined {
  const { type = '', detail = '' } = (body ?? {}) as { readonly type?: string; readonly detail?: string }
  const word = isOfNewerCode(how) ? 'newer-schema' : 'unreadable'
  const isRight = status === 500 && type.endsWith(`:${word}`) && detail.includes(params.id ?? '')
  return isRight
    ? undefined
    : `${operation} of ${params.id}, a head ${how}, is answered ${status} ${type}: ${detail}`
}

function lostBy(
  before: SeenHead | undefined,
  after: SeenHead,
  how: DamageName | undefined,
): string | undefined {
  if (!before) return 'head'
  if (how !== 'without a birth' && after.born !== before.born) return 'birth'
  if (how !== 'without a revision' && after.revision <= before.revision) return 'revision'
  if (how !== 'without a fence' && after.fence < before.fence) return 'fence'
  return after.state === 'removed' && after.createdAt === before.createdAt ? undefined : 'time of creation'
}
