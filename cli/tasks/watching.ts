import { setTimeout as sleep } from 'node:timers/promises'
import { isOutage } from '../../shared/client/outage.ts'
import type { Context } from '../system/with-system.ts'
import { createLiveView } from '../terminal/live-view.ts'
import { clockText } from '../terminal/times.ts'

/** What is watched, and how it is shown. */
export type Watched<State> = {
  read(): Promise<State>
  /** The whole picture, which a terminal shows in place. */
  picture(state: State): readonly string[]
  /** What a line without a terminal says. A line that is the same as the last one is left out. */
  line(state: State): string
  isOver(state: State): boolean
  readonly intervalMs: number
}

/** Reads and shows a state again and again until it is over. Returns the last state; undefined when the user interrupted it. */
export async function follow<State>(context: Context, watched: Watched<State>): Promise<State | undefined> {
  const { io } = context
  const show = shower(context, watched)
  io.signal.addEventListener('abort', show.end, { once: true })
  try {
    for (
      let state = await watched.read();
      !io.signal.aborted;
      state = await nextState(context, watched, state)
    ) {
      show.state(state)
      if (watched.isOver(state)) return state
    }
    return undefined
  } finally {
    io.signal.removeEventListener('abort', show.end)
    show.end()
  }
}

/** Reads the next state after a pause. While the system does not answer, the last state stands. */
async function nextState<State>(
  { io, printer }: Context,
  watched: Watched<State>,
  last: State,
): Promise<State> {
  await sleep(watched.intervalMs, undefined, { signal: io.signal }).catch(() => {})
  if (io.signal.aborted) return last
  return watched.read().catch(error => {
    if (!isOutage(error)) throw error
    printer.note(`no answer, trying again: ${error.problem.detail}`)
    return last
  })
}

function shower<State>({ io, printer }: Context, { picture, line }: Watched<State>) {
  const view = createLiveView(io.out)
  let last = ''
  const showOnce = (text: string, print: () => void) => {
    if (text !== last) print()
    last = text
  }
  return {
    state: (state: State) => {
      if (printer.isJson) showOnce(JSON.stringify(state), () => printer.record(state))
      else if (io.out.isTTY) view.draw(picture(state))
      else {
        const text = line(state)
        showOnce(text, () => printer.line(`${clockText(io.now())}  ${text}`))
      }
    },
    end: () => view.end(),
  }
}
