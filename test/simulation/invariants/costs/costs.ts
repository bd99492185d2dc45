import type { Scenario } from '../../scenario.ts'
import type { HistoryEvent } from '../../world/history.ts'
import type { Invariant, Write } from '../invariant.ts'
import { claimIn } from '../pieces.ts'

/**
 * Promises about what tasks and their limits cost where nothing goes wrong. The figures are from docs/data-model.md` and
 * `docs/flow-control.md`. `line-looks.ts` has the promises about looks.
 */

/** What has happened, as far as it may cost requests. */
type Counts = Record<
  'runs' | 'waits' | 'lineLooks' | 'taskLooks' | 'dispatches' | 'permits' | 'notes',
  number
>

const NOTHING: Counts = { runs: 0, waits: 0, lineLooks: 0, taskLooks: 0, dispatches: 0, permits: 0, notes: 0 }

/** A kind of request to the table, and how many of them may have been made. */
type Price = {
  readonly of: string
  readonly by: 'claims' | 'looks' | 'anybody'
  readonly request: RegExp
  most(counts: Counts, setting: { readonly holdersMax: number }): number
}

/** Several processes may read what one of them knows already. */
const SPARE = 5
/** Two processes may want the same permit, or serve looks at one line at the same time. */
const RACES = 2
/** Tasks that want many permits at once compete for them, so the costs of losing are not counted. */
const FEW_PERMITS = 8

const PRICES: readonly Price[] = [
  {
    of: 'writes of permits: each run takes one and gives it back, and few are refused',
    ...{ by: 'anybody', request: /^update permits#/ },
    most: ({ permits, notes, runs, waits, dispatches }) =>
      permits + 2 * notes + Math.max(0, dispatches - runs - waits) + RACES,
  },
  {
    of: 'reads of permits by claims: at most one a run, since most claims know of a free permit',
    ...{ by: 'claims', request: /^get a batch of permits#/ },
    most: ({ runs }) => runs + 2 * RACES,
  },
  {
    of: 'reads of permits by looks',
    ...{ by: 'looks', request: /^get a batch of permits#/ },
    most: ({ lineLooks }) => lineLooks + RACES,
  },
  {
    of: 'reads of the runs that hold permits: a look reads the runs of old holders',
    ...{ by: 'looks', request: /^get \S+ head$/ },
    most: ({ lineLooks }, { holdersMax }) => holdersMax * lineLooks,
  },
  {
    of: 'writes of slot logs: one for each start',
    ...{ by: 'anybody', request: /^put starts#.* starts$/ },
    most: ({ runs }) => runs,
  },
  {
    of: 'reads of slot logs by claims: one for each start and each wait, and few in vain',
    ...{ by: 'claims', request: /^get starts#.* starts$/ },
    most: ({ runs, waits }) => 1.5 * (runs + waits) + SPARE,
  },
  {
    of: 'reads of slot logs by looks',
    ...{ by: 'looks', request: /^get starts#.* starts$/ },
    most: ({ lineLooks }) => lineLooks + RACES,
  },
  {
    of: 'reads of the notes of lines by claims',
    ...{ by: 'claims', request: /^get starts#.* line#/ },
    most: ({ runs, waits }) => runs + waits + SPARE,
  },
  {
    of: 'writes of the notes of lines by claims: at most one for each wait',
    ...{ by: 'claims', request: /^put starts#.* line#/ },
    most: ({ waits }) => waits + RACES,
  },
  {
    of: 'writes of the notes of lines by looks: at most one for each look',
    ...{ by: 'looks', request: /^(put|delete) starts#.* line#/ },
    most: ({ lineLooks }) => lineLooks + RACES,
  },
  {
    of: 'reads of tasks by claims: a dispatch carries its task',
    ...{ by: 'claims', request: /^get .* head$/ },
    most: () => 0,
  },
  {
    of: 'reads of tasks by looks: one for each look, all tasks of a line together',
    ...{ by: 'looks', request: /^get a batch of .* head$/ },
    most: ({ lineLooks, taskLooks }) => lineLooks + taskLooks,
  },
  {
    of: 'reads of types by claims and looks',
    ...{ by: 'anybody', request: /^get types / },
    most: ({ runs, waits, lineLooks }) => runs + waits + lineLooks + 2 * SPARE,
  },
  {
    of: 'reads of inputs by looks: the head has the values of keys',
    ...{ by: 'looks', request: /^get \S+ in#/ },
    most: () => 0,
  },
  {
    of: 'reads of inputs by claims: one for each run',
    ...{ by: 'claims', request: /^get \S+ in#/ },
    most: ({ runs }) => runs,
  },
]

export const COST_INVARIANTS: readonly Invariant[] = [
  {
    name: 'where nothing goes wrong, runs, waits and looks cost the requests to the table that the documents say',
    watch: scenario => {
      if (!isCounted(scenario)) return {}
      const counts: Counts = { ...NOTHING }
      const made = PRICES.map(() => 0)
      const holdersMax = holdersMaxOf(scenario)
      return {
        on: event => {
          count(counts, event)
          const by = roleOf(event)
          if (event.what !== 'request' || by === undefined || isUncounted(event.request)) return undefined
          for (const [nth, price] of PRICES.entries())
            if ((price.by === by || price.by === 'anybody') && price.request.test(event.request))
              made[nth] = (made[nth] ?? 0) + 1
          return undefined
        },
        atEnd: () => {
          const nth = PRICES.findIndex((price, at) => (made[at] ?? 0) > price.most(counts, { holdersMax }))
          return nth < 0 ? undefined : `${made[nth]} ${PRICES[nth]?.of}, by ${JSON.stringify(counts)}`
        },
      }
    },
  },
  {
    name: 'where nothing goes wrong, a task is sent once for each run and once for each wait',
    watch: scenario => {
      if (!isCounted(scenario) || holdersMaxOf(scenario) > FEW_PERMITS) return {}
      const counts: Counts = { ...NOTHING }
      return {
        on: event => {
          count(counts, event)
          return undefined
        },
        atEnd: () =>
          counts.dispatches > counts.runs + counts.waits + RACES
            ? `${counts.dispatches} dispatches were sent for ${counts.runs} runs and ${counts.waits} waits`
            : undefined,
      }
    },
  },
  {
    name: 'where nothing goes wrong, looks write a running task once in eight leases',
    watch: scenario => {
      if (!isCounted(scenario)) return {}
      /** When each running task was claimed, and how often a look has written it since. */
      const running = new Map<string, { readonly since: number; writes: number }>()
      return {
        on: event => {
          if (event.what === 'write' && event.after.operation !== 'beat') {
            if (claimIn(event)) running.set(event.after.id, { since: event.at, writes: 0 })
            else running.delete(event.after.id)
          }
          if (event.what !== 'request' || roleOf(event) !== 'looks') return undefined
          const [, id = ''] = /^update (\S+) head$/.exec(event.request) ?? []
          const run = running.get(id)
          if (!run) return undefined
          run.writes += 1
          const most = 1 + (event.at - run.since) / RECORDED_EVERY_MS
          return run.writes > most
            ? `looks have written the running task ${id} ${run.writes} times`
            : undefined
        },
      }
    },
  },
  {
    name: 'where nothing goes wrong, nothing is read of a limit that no type has',
    watch: scenario => {
      if (!isCounted(scenario)) return {}
      const isLimited = (name: string, kind: string) =>
        scenario.types.some(
          ({ type, limits }) => name.startsWith(type) && limits?.[kind === 'slot' ? 'rate' : 'concurrency'],
        )
      return {
        on: event => {
          if (event.what !== 'request') return undefined
          const [, limit = '', kind] = /^get starts#(\S+) line#(\w+)$/.exec(event.request) ?? []
          return kind !== undefined && !isLimited(limit, kind)
            ? `the line ${kind} ${limit} is read, and there is no such limit`
            : undefined
        },
      }
    },
  },
]

/** A look at a run that continues is recorded once in eight leases, of 15 s each. */
const RECORDED_EVERY_MS = 120_000

/** Readers ask as much as they like. */
function isCounted({ isMetered, hasReaders }: Scenario): boolean {
  return isMetered === true && !hasReaders
}

/** HTTP workers ask for tasks whether or not there are any, and a ticket may find that another one has taken the last task. */
function isUncounted(name: string): boolean {
  return /by-http|ordered/.test(name)
}

function holdersMaxOf({ types }: Scenario): number {
  return Math.max(0, ...types.map(({ limits }) => limits?.concurrency?.max ?? 0))
}

function count(counts: Counts, event: HistoryEvent): void {
  const what = countedIn(event)
  if (what !== undefined) counts[what] += 1
}

function countedIn(event: HistoryEvent): keyof Counts | undefined {
  if (event.what === 'write') return isUncounted(event.after.id) ? undefined : countedWrite(event)
  if (event.what === 'request')
    return isNote(event.request) && roleOf(event) === 'claims' ? 'notes' : undefined
  const [what, name] = namedIn(event) ?? []
  return name === undefined || isUncounted(name) ? undefined : what
}

function namedIn(event: HistoryEvent): readonly [keyof Counts, string] | undefined {
  switch (event.what) {
    case 'line-look':
      return ['lineLooks', event.look.line.limit]
    case 'look-received':
      return ['taskLooks', event.id]
    case 'permit':
      return ['permits', event.limit]
    case 'dispatched':
      return ['dispatches', event.id]
    default:
      return undefined
  }
}

function isNote(request: string): boolean {
  return !isUncounted(request) && /^put starts#.* line#/.test(request)
}

function countedWrite(write: Write): keyof Counts | undefined {
  if (claimIn(write)) return 'runs'
  return /^(block|throttle)$/.test(write.after.operation) ? 'waits' : undefined
}

/** What makes the request: the executor of a type or a worker, or the waker. The sweeper, the planner and the API are not judged. */
function roleOf({ by }: HistoryEvent): 'claims' | 'looks' | undefined {
  if (by.startsWith('waker')) return 'looks'
  return /^(lambda|w\d)/.test(by) ? 'claims' : undefined
}
