import { Worker } from 'node:worker_threads'
import type { ScenarioKind } from '../generate/generate.ts'
import type { Played } from './simulate.ts'

/** A thread that plays seeds, one at a time; a new one takes its place when it dies. */
export type Player = {
  /** A seed that kills its thread, or never ends, is a broken one. */
  play(seed: number): Promise<Played>
  end(): Promise<void>
}

/** Such a seed cannot be played in this thread without harm. */
export const SEED_ENDS = 'a seed plays to its end'

/** Most seeds take some dozens of milliseconds; one that takes so long runs in circles. */
const ENDLESS_MS = 300_000

/** `program` answers each seed that it is sent with what was played; of one kind alone, if `only` says so. */
export function startPlayer(program: URL, only?: ScenarioKind): Player {
  let thread: Worker | undefined
  return {
    play: async seed => {
      thread ??= new Worker(program, { execArgv: [], workerData: { only } })
      const answer = await answerOf(thread, seed)
      if (typeof answer !== 'string') return answer
      await thread.terminate()
      thread = undefined
      return { broken: { invariant: SEED_ENDS, message: answer, at: 0 }, events: 0, virtualMs: 0 }
    },
    end: async () => {
      await thread?.terminate()
    },
  }
}

/** What was played, or how the thread ended over it. */
function answerOf(thread: Worker, seed: number): Promise<Played | string> {
  const { promise, resolve } = Promise.withResolvers<Played | string>()
  const died = (error: unknown) => resolve(`its thread died: ${error}`)
  const exited = (code: number) => resolve(`its thread exited with code ${code}`)
  const timer = setTimeout(() => resolve(`it went on for ${ENDLESS_MS / 1_000} s`), ENDLESS_MS)
  thread.once('message', resolve).once('error', died).once('exit', exited)
  thread.postMessage(seed)
  return promise.finally(() => {
    clearTimeout(timer)
    thread.off('message', resolve).off('error', died).off('exit', exited)
  })
}
