import type { Task } from '../../../shared/core/task/task.ts'
import type { Scenario } from '../scenario.ts'
import type { HistoryEvent } from '../world/history.ts'

export type Write = Extract<HistoryEvent, { readonly what: 'write' }>

/** A promise of the system, as something that watches a run; an answer says how it was broken. */
export type Invariant = {
  /** The promise, as a sentence. */
  readonly name: string
  watch(scenario: Scenario): {
    on?(event: HistoryEvent): string | undefined
    /** Once nothing happens any more. */
    atEnd?(heads: readonly Task[]): string | undefined
  }
}

/** An invariant of single writes. */
export function onEachWrite(name: string, judge: (write: Write) => string | undefined): Invariant {
  return {
    name,
    watch: () => ({ on: event => (event.what === 'write' ? judge(event) : undefined) }),
  }
}
