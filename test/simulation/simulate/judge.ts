import type { Task } from '../../../shared/core/task/task.ts'
import { INVARIANTS } from '../invariants/invariants.ts'
import { firstUnsettled } from '../invariants/runs/settling.ts'
import type { Scenario } from '../scenario.ts'
import type { HistoryEvent } from '../world/history.ts'

/** A promise that was broken, and how. */
export type Verdict = { readonly invariant: string; readonly message: string; readonly at: number }

/** Holds what happens against every invariant. */
export type Judge = {
  see(event: HistoryEvent): void
  /** Whether nothing more can happen to any task by itself. */
  isSettled(heads: Iterable<Task>): boolean
  end(heads: Iterable<Task>, at: number): void
  /** Something was thrown that nobody caught. */
  unhandled(error: unknown, at: number): void
  broken(): Verdict | undefined
}

/** A promise of every line of code. */
const NO_SURPRISES = 'the code throws nothing by surprise'

export function createJudge(scenario: Scenario): Judge {
  const watches = INVARIANTS.map(({ name, watch }) => ({ name, ...watch(scenario) }))
  let verdict: Verdict | undefined
  const rule = (invariant: string, at: number, message: string | undefined) => {
    if (message !== undefined) verdict ??= { invariant, message, at }
  }
  return {
    see: event => {
      for (const { name, on } of watches)
        rule(
          name,
          event.at,
          judged(() => on?.(event)),
        )
    },
    isSettled: heads => firstUnsettled([...heads], scenario) === undefined,
    end: (heads, at) => {
      // The heads can be gone through once.
      const all = [...heads]
      for (const { name, atEnd } of watches) rule(name, at, atEnd?.(all))
    },
    unhandled: (error, at) => rule(NO_SURPRISES, at, String(error)),
    broken: () => verdict,
  }
}

/** An invariant that throws must not look like a call that failed. */
function judged(judge: () => string | undefined): string | undefined {
  try {
    return judge()
  } catch (error) {
    return `the invariant itself fails: ${error}`
  }
}
