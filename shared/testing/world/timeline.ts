/**
 * Virtual time, and everything that is going to happen in it. One event happens at a time. All code that it resumes runs until that code
 * waits for another event. So the order of events is the only interleaving, and it is repeatable.
 */
export type Timeline = {
  /** Milliseconds since the epoch. The simulation's have fractions, so that two events hardly ever have the same time. */
  now(): number
  /** Schedules `happen` for `time`, or for now when that has passed. The returned function removes it. */
  at(time: number, happen: () => void): () => void
  /** The time of the next event. Infinite when none is left. */
  next(): number
  /** Runs events until `isOver` returns true after one of them, none are left, or `until` is reached. */
  run(until: number, isOver?: () => boolean | Promise<boolean>): Promise<void>
  /** How many events have run. */
  count(): number
}

type Event = { readonly time: number; readonly order: number; happen: (() => void) | undefined }

/** `settle` resolves when all code has run that waits for no event. @default the end of the present turn of the event loop */
export function createTimeline(start: number, settle: () => Promise<void> = quiet): Timeline {
  const events = createHeap()
  let now = start
  let scheduled = 0
  let happened = 0

  return {
    now: () => now,
    at: (time, happen) => {
      scheduled += 1
      const event: Event = { time: Math.max(now, time), order: scheduled, happen }
      events.push(event)
      return () => {
        event.happen = undefined
      }
    },
    next: () => {
      for (let first = events.peek(); first; first = events.peek()) {
        if (first.happen) return first.time
        events.pop()
      }
      return Number.POSITIVE_INFINITY
    },
    run: async (until, isOver = () => false) => {
      await settle()
      for (let next = events.peek(); next && next.time <= until; next = events.peek()) {
        events.pop()
        if (!next.happen) continue
        now = next.time
        happened += 1
        next.happen()
        await settle()
        const over = isOver()
        if (over !== false && (await over)) return
      }
      now = Math.max(now, until)
    },
    count: () => happened,
  }
}

/** Waits until all code has run that waits for no event. It waits for a whole turn, because only its end reports an unhandled rejection. */
export function quiet(): Promise<void> {
  return new Promise(resolve => void nextTurn(resolve))
}

/** Kept from the start: a test may replace the global timers while it runs. */
const nextTurn = globalThis.setImmediate

/** A binary heap with the earliest event at its top. */
function createHeap() {
  const heap: Event[] = []
  const comesFirst = (a: number, b: number) => {
    const [one, other] = [heap[a], heap[b]]
    if (!one || !other) return one !== undefined
    return one.time - other.time < 0 || (one.time === other.time && one.order < other.order)
  }
  const swap = (a: number, b: number) => {
    const [one, other] = [heap[a], heap[b]]
    if (!one || !other) return
    heap[a] = other
    heap[b] = one
  }
  const rise = (from: number) => {
    for (let at = from, parent = (at - 1) >> 1; at > 0 && comesFirst(at, parent); parent = (at - 1) >> 1) {
      swap(at, parent)
      at = parent
    }
  }
  const sink = () => {
    for (let at = 0; ; ) {
      const [left, right] = [2 * at + 1, 2 * at + 2]
      const child = comesFirst(right, left) && right < heap.length ? right : left
      if (child >= heap.length || !comesFirst(child, at)) return
      swap(at, child)
      at = child
    }
  }
  return {
    peek: () => heap[0],
    push: (event: Event) => {
      heap.push(event)
      rise(heap.length - 1)
    },
    pop: () => {
      const last = heap.pop()
      if (last && heap.length > 0) {
        heap[0] = last
        sink()
      }
    },
  }
}
