import { BatonError } from '../../../shared/core/errors.ts'
import type { Chance, Clock } from '../../../shared/ports/machine.ts'
import { createSeededChance } from '../../../shared/testing/chance.ts'
import type { Service, Weather } from '../scenario.ts'
import { createWallClock } from './wall-clock.ts'
import { START, type World } from './world.ts'

/**
 * A process: what it waits for is what it can be killed or frozen at. Every call to the world outside and every sleep
 * ends in an event of the timeline, which a dead process never sees, and a frozen one sees when it goes on.
 */
export type Process = {
  readonly name: string
  readonly clock: Clock & {
    /** Milliseconds since some time in the past; they know of no jump. */
    monotonic(): number
  }
  readonly chance: Chance
  /** The latest time that its clock may have shown to code that waits for an answer now. */
  latestShown(): number
  isAlive(): boolean
  /** A call to a service: `effect` takes place at one instant in between, if the weather lets it and the service is there. */
  call<T>(operation: string, effect: () => T | Promise<T>, service?: Service): Promise<T>
  /** Whether a misfortune of this kind befalls the process now. */
  suffers(misfortune: keyof Weather): boolean
  kill(why: string): void
  /** Stops it for so long, or until `thaw`. */
  freeze(forMs: number): void
  thaw(): void
  /** Runs once, at its death. */
  onDeath(react: () => void): void
}

/** Latency of a usual call, there and back, and of a slow one; the SDK gives up after three tries of 3 s. */
const USUAL_LATENCY_MS_MAX = 6
const SLOW_LATENCY_MS_MAX = 9_000
const FREEZE_MS_MAX = 40_000
/** The share of calls to a service that is out which end by a timeout; the others are refused at once. */
const OUTAGE_TIMEOUT_SHARE = 0.3

const NEVER = new Promise<never>(() => undefined)

export function createProcess(world: World, name: string): Process {
  const { timeline, history } = world
  const luck = createSeededChance(world.seedOf(`luck of ${name}`))
  const skewMs = Math.round((luck.fraction() * 2 - 1) * world.scenario.weather.skewMs)
  const wall = createWallClock(world, name, skewMs)
  const heldBack: Array<() => void> = []
  const mourners: Array<() => void> = []
  let alive = true
  let frozen = false
  let thawing = () => {}

  const note = (text: () => string) => history.note(timeline.now(), name, text)
  /** Lets the process see something: at once, after its freeze, or never. */
  const see = (event: () => void) => {
    if (!alive) return
    if (frozen) heldBack.push(event)
    else event()
  }
  const happens = (share: number) => share > 0 && luck.fraction() < share

  const kill = (why: string) => {
    if (!alive) return
    note(() => `dies: ${why}`)
    alive = false
    heldBack.length = 0
    for (const react of mourners.splice(0)) react()
  }
  const thaw = () => {
    if (!frozen) return
    frozen = false
    thawing()
    for (const event of heldBack.splice(0))
      if (alive && !frozen) event()
      else heldBack.push(event)
  }
  const freeze = (forMs: number) => {
    frozen = true
    thawing()
    thawing = Number.isFinite(forMs) ? timeline.at(timeline.now() + forMs, thaw) : () => {}
  }
  const latency = (isSlow: boolean) => luck.fraction() * (isSlow ? SLOW_LATENCY_MS_MAX : USUAL_LATENCY_MS_MAX)
  const misfortune = (share: number, freezing: number, operation: string) => {
    if (happens(share)) kill(`at ${operation}`)
    else if (happens(freezing)) {
      const forMs = luck.fraction() * FREEZE_MS_MAX
      note(() => `freezes for ${Math.round(forMs)} ms at ${operation}`)
      freeze(forMs)
    }
  }

  const call = <T>(
    operation: string,
    effect: () => T | Promise<T>,
    service: Service = 'table',
  ): Promise<T> => {
    if (!alive) return NEVER
    const weather = world.weather()
    misfortune(weather.death / 2, weather.freeze / 2, operation)
    if (!alive) return NEVER
    const isSlow = happens(weather.slow)
    const isRefused = happens(weather.refused)
    const isAnswerLost = !isRefused && happens(weather.answerLost)
    return new Promise<T>((resolve, reject) => {
      const answer = (deliver: () => void, isLate = isSlow) =>
        timeline.at(timeline.now() + latency(isLate), () => {
          misfortune(weather.death / 2, weather.freeze / 2, `the answer to ${operation}`)
          see(deliver)
        })
      const fail = (text: string, isLate = isSlow) => {
        note(() => `${operation}: ${text}`)
        answer(() => reject(new BatonError('unavailable', `${operation}: ${text}`)), isLate)
      }
      const begin = () => timeline.at(timeline.now() + latency(isSlow), takeEffect)
      const takeEffect = () => {
        if (isRefused) return fail('no answer, and no effect')
        if (world.isOut(service)) return fail(`${service} is out`, luck.fraction() < OUTAGE_TIMEOUT_SHARE)
        void attempt(effect).then(
          value => (isAnswerLost ? fail('no answer, though it took effect') : answer(() => resolve(value))),
          error => answer(() => reject(error)),
        )
      }
      // A process that is frozen between its decision and its request sends that when it goes on.
      see(begin)
    })
  }

  return {
    name,
    chance: createSeededChance(world.seedOf(name)),
    latestShown: wall.latest,
    isAlive: () => alive,
    call,
    suffers: misfortune => happens(world.weather()[misfortune]),
    kill,
    freeze,
    thaw,
    onDeath: react => void mourners.push(react),
    clock: {
      now: wall.now,
      monotonic: () => timeline.now() - START,
      sleep: (ms, signal) =>
        new Promise<void>(resolve => {
          if (!alive) return
          if (signal?.aborted) return resolve()
          const cancel = timeline.at(timeline.now() + Math.max(0, ms), () => see(wake))
          const wake = () => {
            signal?.removeEventListener('abort', wake)
            cancel()
            resolve()
          }
          signal?.addEventListener('abort', wake, { once: true })
        }),
    },
  }
}

/** Runs now, not in a turn of its own: the effect takes place at this very instant. */
async function attempt<T>(effect: () => T | Promise<T>): Promise<T> {
  return effect()
}
