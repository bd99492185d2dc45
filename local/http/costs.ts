import type { Meter } from '../gateway/meter.ts'
import { costOf } from '../gateway/prices.ts'
import type { HttpAnswer, RequestHandler } from './answer.ts'

/** Where the dashboard reads what the system would cost on AWS. It is no path of the API: a deployed system does not have it. */
export const COSTS_PATH = '/local/cost'

const MINUTE_MS = 60_000
const MINUTES_KEPT = 60

type Cost = { readonly at: number; readonly usd: number }

export type Costs = {
  /** Answers requests for the costs. */
  readonly serve: RequestHandler
  stop(): Promise<void>
}

/**
 * Notes once a minute what the metered usage would cost at AWS list prices. The answer has the cost since the start of the system, and
 * the cost of each of the last 60 minutes. The prices leave out free tiers, alarms and events.
 */
export function startCosts(meter: Meter, now: () => number = Date.now): Costs {
  const from = now()
  const noted: Cost[] = [{ at: from, usd: 0 }]
  const note = () => {
    noted.push({ at: now(), usd: costOf(meter.snapshot()).total })
    noted.splice(0, noted.length - MINUTES_KEPT - 1)
  }
  const timer = setInterval(note, MINUTE_MS)
  timer.unref()
  return {
    serve: (request, response) => {
      const [path] = (request.url ?? '/').split('?')
      if (path !== COSTS_PATH || request.method !== 'GET') return false
      const usd = costOf(meter.snapshot()).total
      const { status, headers, body } = answerWith({
        from: new Date(from).toISOString(),
        usd,
        minutes: differences([...noted, { at: now(), usd }]),
      })
      response.writeHead(status, headers).end(body)
      return true
    },
    stop: async () => clearInterval(timer),
  }
}

/** What each noted span has cost; `at` is its beginning. */
function differences(costs: readonly Cost[]): Array<{ readonly at: string; readonly usd: number }> {
  return costs.slice(1).map(({ usd }, index) => {
    const before = costs[index] ?? { at: 0, usd: 0 }
    return { at: new Date(before.at).toISOString(), usd: usd - before.usd }
  })
}

function answerWith(value: unknown): HttpAnswer {
  return {
    status: 200,
    headers: { 'content-type': 'application/json', 'cache-control': 'no-store' },
    body: Buffer.from(JSON.stringify(value)),
  }
}
