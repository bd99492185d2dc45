import type { Body } from '../../../../shared/core/task/head-fields.ts'
import type { HistoryEvent } from '../../world/history.ts'
import type { SeenHead } from '../../world/seen-head.ts'
import type { Invariant } from '../invariant.ts'

const DAY_MS = 86_400_000
/** What a removed task leaves behind is deleted free of charge if it lasts no longer than this. */
const LEFT_BEHIND_MS_MAX = 45 * DAY_MS

/** A body that is stored apart from its head, until its expiry. */
type Stored = { readonly ref: string; readonly expiresAt: number }

/** Promises about inputs, results and callbacks that are stored apart from the heads of their tasks. */
export const BODY_INVARIANTS: readonly Invariant[] = [
  {
    name: 'whatever a task refers to is stored for as long as the task needs it',
    watch: () => {
      const bodies = createBodies()
      return {
        on: event => {
          bodies.see(event)
          if (event.what !== 'write' || isOfOneRun(event)) return undefined
          return firstProblem(event.after, bodies.of(event.after.id))
        },
      }
    },
  },
  {
    name: 'what a removed task consisted of is gone within 45 days, or at once',
    watch: ({ trial }) => {
      if (trial !== 'bodies') return {}
      const bodies = createBodies()
      const doomed: Doomed[] = []
      return {
        on: event => {
          bodies.see(event)
          if (event.what === 'write' && event.after.operation === 'remove' && event.before)
            doomed.push(...lastingOf(event.before, event.at, bodies.of(event.before.id)))
          return undefined
        },
        atEnd: () => {
          const left = doomed.find(({ id, ref }) => bodies.of(id).has(ref))
          return left && `${left.id} was removed, and its ${left.ref} is kept for more than 45 days`
        },
      }
    },
  },
]

function firstProblem(task: SeenHead, stored: ReadonlyMap<string, number>): string | undefined {
  for (const { ref, expiresAt } of bodiesIn(task)) {
    const until = stored.get(ref)
    if (until === undefined) return `${task.id} refers to ${ref}, which is not stored`
    if (until < expiresAt) return `${ref} of ${task.id} ends earlier than its head says`
    const missingMs = neededUntil(task) - expiresAt
    if (missingMs > 0) return `${ref} of ${task.id} ends ${missingMs} ms too early`
  }
  return undefined
}

/** A heartbeat and a counted success change one run only. The next other write of the task cares for its bodies. */
function isOfOneRun({ before, after }: Extract<HistoryEvent, { readonly what: 'write' }>): boolean {
  return after.operation === 'beat' || (after.operation === 'succeed' && before?.state === after.state)
}

type Doomed = { readonly id: string; readonly ref: string }

/** What belongs to the task and would outlast its removal for too long: its bodies, and the records of its runs. */
function lastingOf(task: SeenHead, at: number, stored: ReadonlyMap<string, number>): Doomed[] {
  const { id, born, options } = task
  const until = at + LEFT_BEHIND_MS_MAX
  const isKeptLong = options.retentionMs > LEFT_BEHIND_MS_MAX
  const records = [...stored].filter(([ref]) => isKeptLong && ref.startsWith(`run#${born}#`))
  // A change that lost its race may have prolonged a body, which its head does not tell.
  const all = [...bodiesIn(task), ...records.map(([ref, expiresAt]) => ({ ref, expiresAt }))]
  return all.filter(({ expiresAt }) => expiresAt > until).map(({ ref }) => ({ id, ref }))
}

/** Until when the task may run or be read. */
function neededUntil({ state, dueAt, options, expiresAt = 0 }: SeenHead): number {
  if (state === 'removed') return 0
  return state === 'open' ? dueAt + options.retentionMs : expiresAt
}

/** The expiries of all stored bodies, by the ids of their tasks and by their names. */
function createBodies() {
  const byTask = new Map<string, Map<string, number>>()
  return {
    see: (event: HistoryEvent) => {
      if (event.what !== 'body') return
      const { id, ref, expiresAt } = event
      const ofTask = byTask.get(id) ?? new Map<string, number>()
      byTask.set(id, ofTask)
      if (expiresAt === undefined) ofTask.delete(ref)
      else ofTask.set(ref, expiresAt)
    },
    of: (id: string): ReadonlyMap<string, number> => byTask.get(id) ?? NONE,
  }
}

const NONE: ReadonlyMap<string, number> = new Map()

function bodiesIn({ input, previous, callbacks, canvas, ended, flow }: SeenHead): Stored[] {
  const results = [...Object.values(ended), ...Object.values(flow?.steps ?? {})].map(({ result }) => result)
  const all: Array<Body | undefined> = [
    ...[input, callbacks?.body, canvas?.tree, ...results],
    previous?.kind === 'body' ? previous.body : undefined,
  ]
  return all.flatMap(body => (body !== undefined && 'ref' in body ? body : []))
}
