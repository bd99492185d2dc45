import { setImmediate as nextTurn } from 'node:timers/promises'
import type { ManualClock } from '../../support/ports/clock.ts'
import { CALM, type Scenario, type Weather } from '../scenario.ts'
import { createServices, type Services, watchTypes } from './aws/services.ts'
import { createTable, type Table } from './aws/table.ts'
import type { History, HistoryEvent } from './history.ts'
import { createProcess, type Process } from './process.ts'
import { createWorld, START, type World } from './world.ts'

/**
 * A simulated world without callers and workers, for tests that call it themselves. Time passes only while the
 * test waits.
 */
export type DrivenWorld = {
  readonly world: World
  readonly clock: ManualClock
  readonly table: Table
  readonly services: Services
  /** The notes of the world, such as which process died and which message was lost. */
  readonly notes: readonly string[]
  /** The events that invariants would judge. */
  readonly events: readonly HistoryEvent[]
  /** A process whose calls do not advance time. */
  process(name?: string): Process
  /** The same ports, but awaiting an answer advances time until the answer is there. */
  driven<Ports extends object>(ports: Ports): Ports
  /** Advances time until this is answered. */
  until<T>(answer: Promise<T>): Promise<T>
}

type Parts = Pick<Scenario, 'outages' | 'conditions' | 'trial'> & {
  readonly weather?: Partial<Weather>
  readonly calmAt?: number
  readonly startsAt?: number
}

/** A century: no test waits longer for an answer. */
const WAIT_MS_MAX = 100 * 366 * 24 * 60 * 60_000

export async function createDrivenWorld({
  weather = {},
  calmAt = Number.POSITIVE_INFINITY,
  startsAt = START,
  ...rest
}: Parts = {}): Promise<DrivenWorld> {
  const notes: string[] = []
  const events: HistoryEvent[] = []
  const scenario: Scenario = {
    seed: 1,
    weather: { ...CALM, ...weather },
    calmAt,
    afterwardsMs: 0,
    types: [],
    flows: [],
    workers: [],
    steps: [],
    ...rest,
  }
  const history: History = {
    record: event => void events.push(event),
    note: (_at, by, text) => void notes.push(`${by} ${text()}`),
  }
  const world = createWorld(scenario, history, startsAt)
  const { timeline } = world
  const types = watchTypes(world)
  const table = createTable(world, change => types.see(change))
  const services = createServices(world, {
    table,
    schedules: () => {
      throw new Error('this world has no scheduler')
    },
  })

  let awaited = 0
  let stepped = 0
  let running = Promise.resolve()
  const runWhileAwaited = async () => {
    // Some answers take no virtual time.
    await nextTurn()
    if (awaited > 0) await timeline.run(timeline.now() + WAIT_MS_MAX, () => awaited === 0)
  }
  const until = <T>(answer: Promise<T>): Promise<T> => {
    awaited += 1
    if (awaited === 1) running = running.then(runWhileAwaited)
    return answer.finally(() => {
      awaited -= 1
    })
  }
  const sleep = (ms: number) => new Promise<void>(resolve => timeline.at(timeline.now() + ms, resolve))

  return {
    world,
    notes,
    events,
    table,
    services,
    process: (name = 'a process') => createProcess(world, name),
    until,
    driven: ports => {
      const methods = Object.entries(ports).map(([name, does]) => [
        name,
        (...args: unknown[]) => until(does(...args)),
      ])
      return Object.fromEntries(methods)
    },
    clock: {
      now: () => Math.floor(timeline.now()) + stepped,
      monotonic: () => timeline.now() - startsAt,
      step: ms => {
        stepped += ms
      },
      sleep: ms => until(sleep(ms)),
      advance: ms => until(sleep(ms)),
      sleepers: () => awaited,
    },
  }
}
