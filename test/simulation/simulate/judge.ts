import type { Head } from '../../../shared/core/task/head.ts'
import { INVARIANTS } from '../invariants/invariants.ts'
import { firstUnsettled } from '../invariants/runs/settling.ts'
import type { Scenario } from '../scenario.ts'
import type { HistoryEvent } from '../world/history.ts'
import { seenAs } from '../world/seen-head.ts'

/** A broken invariant, and how it was broken. */
export type Verdict = { readonly invariant: string; readonly message: string; readonly at: number }

/** Checks every event of the history against every invariant. */
export type Judge = {
  see(event: HistoryEvent): void
  /** Whether no task will change any more without an operation. */
  isSettled(heads: Iterable<Head>): boolean
  end(heads: Iterable<Head>, at: number): void
  /** An exception or a rejection was not handled. */
  unhandled(error: unknown, at: number): void
  broken(): Verdict | undefined
}

/** The invariant of unhandled errors. */
const ERRORS_ARE_HANDLED = 'no exception and no rejection is left unhandled'

export function createJudge(scenario: Scenario): Judge {
  const watches = INVARIANTS.map(({ name, watch }) => ({ name, ...watch(scenario) }))
  const listening = watches.flatMap(({ name, on }) => (on ? [{ name, on }] : []))
  let verdict: Verdict | undefined
  const rule = (invariant: string, at: number, message: string | undefined) => {
    if (message !== undefined) verdict ??= { invariant, message, at }
  }
  return {
    see: event => {
      for (const { name, on } of listening) rule(name, event.at, judged(on, event))
    },
    isSettled: heads => firstUnsettled([...heads].map(seenAs), scenario) === undefined,
    end: (heads, at) => {
      // An iterator of heads can be read only once.
      const all = [...heads].map(seenAs)
      for (const { name, atEnd } of watches) rule(name, at, atEnd?.(all))
    },
    unhandled: (error, at) => rule(ERRORS_ARE_HANDLED, at, String(error)),
    broken: () => verdict,
  }
}

/** An invariant that throws must not look like a call that failed. */
function judged(judge: (event: HistoryEvent) => string | undefined, event: HistoryEvent): string | undefined {
  try {
    return judge(event)
  } catch (error) {
    return `the invariant itself throws: ${error}`
  }
}
