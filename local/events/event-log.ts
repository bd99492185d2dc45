/** An event as the stream sends it. */
export type LoggedEvent = {
  readonly id: string
  readonly type: string
  readonly taskId?: string
  /** The whole event as JSON. */
  readonly json: string
}

/** The last events, numbered from 0 in the order of their arrival. */
export type EventLog = {
  /** Adds an event, unless the log has it already: a planner that reads its stream again publishes events again. */
  append(event: LoggedEvent): void
  /** The number of the oldest event in the log. */
  oldest(): number
  /** The number of the next event. */
  end(): number
  /** The event's number; undefined when the log does not have it. */
  numberOf(id: string): number | undefined
  /** The events from this number on that the log still has, at most `limit`. */
  read(from: number, limit: number): LoggedEvent[]
  /** Resolves when the log has an event with this number or a later one, or when `signal` aborts. */
  arrival(number: number, signal: AbortSignal): Promise<void>
}

export function createEventLog(kept: number): EventLog {
  const slots: LoggedEvent[] = []
  const numbers = new Map<string, number>()
  const waiting = new Set<() => void>()
  let end = 0
  const oldest = () => Math.max(0, end - kept)

  return {
    append: event => {
      if (numbers.has(event.id)) return
      const former = slots[end % kept]
      if (former) numbers.delete(former.id)
      slots[end % kept] = event
      numbers.set(event.id, end)
      end += 1
      for (const wake of [...waiting]) wake()
    },
    oldest,
    end: () => end,
    numberOf: id => numbers.get(id),
    read: (from, limit) => {
      const start = Math.max(from, oldest())
      const count = Math.max(0, Math.min(limit, end - start))
      return Array.from({ length: count }, (_, at) => slots[(start + at) % kept]).filter(isThere)
    },
    arrival: (number, signal) => {
      if (end > number || signal.aborted) return Promise.resolve()
      return new Promise(resolve => {
        const done = () => {
          waiting.delete(done)
          signal.removeEventListener('abort', done)
          resolve()
        }
        waiting.add(done)
        signal.addEventListener('abort', done, { once: true })
      })
    },
  }
}

function isThere(event: LoggedEvent | undefined): event is LoggedEvent {
  return event !== undefined
}
