import { type RequestHandler, send, targetOf } from '../../loopback/loopback.ts'
import { costOf, costOfUsage, type Meter } from '../gateway/meter.ts'

/** Where the dashboard reads what the system would cost on AWS. It is not a path of the API: a deployed system does not have it. */
export const COSTS_PATH = '/local/cost'

const MINUTE_MS = 60_000
const MINUTES_KEPT = 60

/** What was spent up to a time, in USD: in all, and for each type. */
type Spent = { readonly at: number; readonly usd: number; readonly types: ReadonlyMap<string, number> }

export type Costs = {
  /** Answers requests for the costs: the costs of the system, or with `?task=ID` of one task. */
  readonly serve: RequestHandler
  stop(): Promise<void>
}

/**
 * Notes once a minute what the metered usage would cost at AWS list prices. The answer has the cost since the start of the system, and
 * the cost of each of the last 60 minutes, in all and for each type. The prices leave out free tiers, alarms and events. What a type costs
 * is what `gateway/owners.ts` charges to it. The rest is the system's own.
 */
export function startCosts(meter: Meter, now: () => number = Date.now): Costs {
  const from = now()
  const noted: Spent[] = [{ at: from, usd: 0, types: new Map() }]
  const present = (): Spent => ({
    at: now(),
    usd: costOf(meter.snapshot()).total,
    types: new Map([...meter.ledger.types()].map(([type, usage]) => [type, costOfUsage(usage).total])),
  })
  const note = () => {
    noted.push(present())
    noted.splice(0, noted.length - MINUTES_KEPT - 1)
  }
  const timer = setInterval(note, MINUTE_MS)
  timer.unref()
  return {
    serve: (request, response) => {
      const { method, path, query } = targetOf(request)
      if (path !== COSTS_PATH || method !== 'GET') return false
      const task = new URLSearchParams(query).get('task')
      const costs = task === null ? costsOf(from, noted, present()) : costOfTask(meter, task)
      const headers = { 'content-type': 'application/json', 'cache-control': 'no-store' }
      send(response, { status: 200, headers, body: Buffer.from(JSON.stringify(costs)) })
      return true
    },
    stop: async () => clearInterval(timer),
  }
}

function costsOf(from: number, noted: readonly Spent[], present: Spent) {
  const first = noted[0]?.types
  return {
    from: new Date(from).toISOString(),
    usd: present.usd,
    minutes: differences([...noted, present]),
    types: [...present.types].map(([type, usd]) => ({
      type,
      usd,
      lastHourUsd: Math.max(0, usd - (first?.get(type) ?? 0)),
    })),
  }
}

/** What each noted span has cost; `at` is its beginning. */
function differences(costs: readonly Spent[]): Array<{ readonly at: string; readonly usd: number }> {
  return costs.slice(1).map(({ usd }, index) => {
    const before = costs[index] ?? { at: 0, usd: 0 }
    return { at: new Date(before.at).toISOString(), usd: usd - before.usd }
  })
}

/** The cost and the usage of one task. An older task is not kept, and the answer has neither. */
function costOfTask(meter: Meter, id: string) {
  const usage = meter.ledger.ofTask(id)
  return usage ? { usd: costOfUsage(usage).total, usage } : {}
}
