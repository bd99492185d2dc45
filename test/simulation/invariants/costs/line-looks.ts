import type { Task } from '../../../../shared/core/task/task.ts'
import type { HistoryEvent } from '../../world/history.ts'
import type { Invariant } from '../invariant.ts'

const MINUTE_MS = 60_000
/** While tasks are dispatched, a look comes every 5 s. A look for an earlier slot replaces another one, which still arrives. */
const LOOKS_A_MINUTE_MAX = 16
/** Tasks of HTTP types wait in their ready place, so these looks only find holders that dead processes have left. */
const EMPTY_LOOKS_A_MINUTE_MAX = 10
/** Looks after 5 s and after 15 s, and one that was under way. Where many looks race, each try sends the next one. */
const EMPTY_LOOKS_MAX = { few: 5, many: 12 } as const
const FEW_PERMITS = 8
/** A line of a concurrency limit is looked at every 15 s. */
const QUIET_LOOK_MS = { least: 13_500, most: 17_000 } as const
/** The next look comes early for this long after a dispatch. */
const UNDER_WAY_MS = 10_500

/** A line of tasks, as far as looks at it are judged. */
type Seen = {
  readonly waiting: Set<string>
  /** The times of the looks that the line was given without a grant that was given back. */
  looks: readonly number[]
  /** When a task joined the line or left it, or was dispatched from it. */
  changedAt: number
  /** How many looks there were since the last task left. */
  emptyLooks: number
}

/** Promises about how often a line is looked at, where nothing goes wrong. Each look costs some ten requests. */
export const LINE_LOOK_INVARIANTS: readonly Invariant[] = [
  {
    name: 'where nothing goes wrong, a line is looked at every 15 s while nothing changes, and no more soon after its last task has left it',
    watch: ({ isMetered, types }) => {
      if (!isMetered) return {}
      const isCrowded = types.some(
        ({ limits: { concurrency } = {} }) => (concurrency?.max ?? 0) > FEW_PERMITS,
      )
      const lines = createLines(EMPTY_LOOKS_MAX[isCrowded ? 'many' : 'few'])
      return {
        on: event => {
          if (event.what === 'write') lines.seeWrite(event.after as Task, event.at)
          if (event.what === 'dispatched' && event.by.startsWith('waker')) lines.change(event.id, event.at)
          if (event.what === 'request') lines.seeRequest(event)
          return event.what === 'line-look' ? lines.seeLook(event) : lines.unseen(event.at)
        },
      }
    },
  },
]

function createLines(emptyLooksMax: number) {
  const lines = new Map<string, Seen>()
  const lineOf = new Map<string, string>()
  const seenOf = (name: string): Seen => {
    const seen = lines.get(name) ?? { waiting: new Set(), looks: [], changedAt: 0, emptyLooks: 0 }
    lines.set(name, seen)
    return seen
  }
  const leave = (id: string, name: string, at: number) => {
    lineOf.delete(id)
    const seen = Object.assign(seenOf(name), { changedAt: at, emptyLooks: 0 })
    seen.waiting.delete(id)
  }
  const join = (id: string, name: string, at: number) => {
    lineOf.set(id, name)
    const seen = Object.assign(seenOf(name), { changedAt: at })
    seen.waiting.add(id)
  }
  return {
    seeWrite: ({ id, state, wait }: Task, at: number) => {
      const [from, to] = [lineOf.get(id), state === 'open' && wait ? `${wait.kind} ${wait.limit}` : undefined]
      if (from === to) return
      if (from !== undefined) leave(id, from, at)
      if (to !== undefined) join(id, to, at)
    },
    change: (id: string, at: number) => {
      const name = lineOf.get(id)
      if (name !== undefined) seenOf(name).changedAt = at
    },
    /** A refused claim notes the line, and may then get a permit after all. */
    seeRequest: ({ by, request }: Extract<HistoryEvent, { readonly what: 'request' }>) => {
      const [, limit, kind] = /^put starts#(.*) line#(\w+)$/.exec(request) ?? []
      if (kind !== undefined && !by.startsWith('waker')) seenOf(`${kind} ${limit}`).emptyLooks = 0
    },
    seeLook: ({ look, at }: Extract<HistoryEvent, { readonly what: 'line-look' }>): string | undefined => {
      if (look.released !== undefined) return undefined
      const name = `${look.line.kind} ${look.line.limit}`
      const seen = seenOf(name)
      const isLeft = seen.waiting.size === 0 && seen.changedAt > 0
      const broken =
        isLeft && seen.emptyLooks >= emptyLooksMax
          ? `the line ${name} is looked at once more after ${seen.emptyLooks} looks without a task`
          : tooMany(name, seen, at)
      seen.looks = [...seen.looks.filter(time => time > at - MINUTE_MS), at]
      if (seen.waiting.size === 0) seen.emptyLooks += 1
      return broken
    },
    /** A line of a concurrency limit that was not looked at for too long. */
    unseen: (at: number): string | undefined => {
      for (const [name, { waiting, looks, changedAt }] of lines) {
        const since = Math.max(looks.at(-1) ?? 0, changedAt)
        const isLate = name.startsWith('permit') && waiting.size > 0 && at - since > QUIET_LOOK_MS.most
        if (isLate) return `the line ${name} was not looked at for ${Math.round(at - since)} ms`
      }
      return undefined
    },
  }
}

function tooMany(name: string, { waiting, looks, changedAt }: Seen, at: number): string | undefined {
  const count = looks.filter(time => time > at - MINUTE_MS).length
  const isEmpty = changedAt === 0 && /^permit by-http/.test(name)
  const most = isEmpty ? EMPTY_LOOKS_A_MINUTE_MAX : LOOKS_A_MINUTE_MAX
  if (count >= most) return `the line ${name} was looked at ${count + 1} times in a minute`
  // One of them may be a look that another one has replaced.
  const last = looks.at(-2) ?? Number.NEGATIVE_INFINITY
  const isQuiet = waiting.size > 0 && name.startsWith('permit') && last - changedAt > UNDER_WAY_MS
  return isQuiet && at - last < QUIET_LOOK_MS.least
    ? `the line ${name}, in which nothing changes, is looked at for the third time in ${Math.round(at - last)} ms`
    : undefined
}
