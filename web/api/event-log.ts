import type { ApiEvent } from '../../shared/api/events.ts'
import { createStore } from './store.ts'

const EVENTS_MAX = 1_000
/** Bursts are drawn together. */
const DRAW_MS = 250

/** The newest events since the page was opened, newest first. */
export const eventLog = createStore<readonly ApiEvent[]>([])

let waiting: ApiEvent[] = []
let _drawing: ReturnType<typeof setTimeout> | undefined

export function logEvent(event: ApiEvent): void {
  waiting.push(event)
  _drawing ??= setTimeout(() => {
    _drawing = undefined
    eventLog.set([...waiting.reverse(), ...eventLog.get()].slice(0, EVENTS_MAX))
    waiting = []
  }, DRAW_MS)
}
