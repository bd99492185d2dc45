import { Worker } from 'node:worker_threads'
import type { ScenarioKind } from '../generate/generate.ts'
import type { SourcePlay } from '../planted-source/find-fault.ts'
import type { Played } from './simulate.ts'

/** A thread that plays seeds, one at a time. A new thread replaces one that dies. */
export type Player = {
  /** Plays a seed. A seed that ends its thread, or never ends itself, counts as broken. */
  play(seed: number): Promise<Played>
  end(): Promise<void>
}

/** The invariant of a seed that ended its thread. Such a seed is not played again in the main thread. */
export const SEED_ENDS = 'a seed plays to its end'

/** A seed that takes this long never ends. Most seeds take some dozens of milliseconds. */
const ENDLESS_MS = 300_000

/** What a thread plays. */
type PlayerSettings = {
  /** Restricts it to one kind of scenario. */
  readonly only?: ScenarioKind | undefined
  /** Scenarios on changed source, which `play` then chooses by their number. */
  readonly source?: SourcePlay
  /** A seed that takes longer never ends. */
  readonly endlessMs?: number
}

/** Starts a thread that runs `program`, which answers each seed with the result of playing it. */
export function startPlayer(
  program: URL,
  { endlessMs = ENDLESS_MS, only, source }: PlayerSettings = {},
): Player {
  let thread: Worker | undefined
  return {
    play: async seed => {
      thread ??= new Worker(program, { execArgv: [], workerData: source ?? { only } })
      const answer = await answerOf(thread, seed, endlessMs)
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

/** The result of the seed, or a text that says how the thread ended. */
function answerOf(thread: Worker, seed: number, endlessMs: number): Promise<Played | string> {
  const { promise, resolve } = Promise.withResolvers<Played | string>()
  const died = (error: unknown) => resolve(`its thread died: ${error}`)
  const exited = (code: number) => resolve(`its thread exited with code ${code}`)
  const timer = setTimeout(() => resolve(`it continued for ${endlessMs / 1_000} s`), endlessMs)
  thread.once('message', resolve).once('error', died).once('exit', exited)
  thread.postMessage(seed)
  return promise.finally(() => {
    clearTimeout(timer)
    thread.off('message', resolve).off('error', died).off('exit', exited)
  })
}
