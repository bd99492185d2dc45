import type { Scenario } from '../scenario.ts'
import type { HistoryEvent } from '../world/history.ts'
import type { SeenHead } from '../world/seen-head.ts'

export type Write = Extract<HistoryEvent, { readonly what: 'write' }>

/** A promise of the system. It watches one run, and returns a sentence once the promise is broken. */
export type Invariant = {
  /** The promise, as a sentence that users may rely on. */
  readonly name: string
  watch(scenario: Scenario): {
    on?(event: HistoryEvent): string | undefined
    /** Judges the heads once nothing happens any more. */
    atEnd?(heads: readonly SeenHead[]): string | undefined
  }
}

/** An invariant that judges each write without the writes before it. */
export function onEachWrite(name: string, judge: (write: Write) => string | undefined): Invariant {
  return {
    name,
    watch: () => ({ on: event => (event.what === 'write' ? judge(event) : undefined) }),
  }
}
