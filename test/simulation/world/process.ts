import { BatonError } from '../../../shared/core/values/values.ts'
import type { Chance, Clock } from '../../../shared/ports/machine.ts'
import { createSeededChance } from '../../../shared/testing/stores/chance.ts'
import type { Service, Weather } from '../scenario.ts'
import { createWallClock } from './wall-clock.ts'
import { START, type World } from './world.ts'

/**
 * A process that can be killed or frozen whenever it waits. Every call to a service and every sleep ends in an
 * event of the timeline. A dead process never receives that event, and a frozen one receives it when it
 * continues.
 */
export type Process = {
  readonly name: string
  readonly clock: Clock & {
    /** Milliseconds since a fixed time in the past. The jumps of the wall clock do not change them. */
    monotonic(): number
  }
  readonly chance: Chance
  /** The latest time that its clock may have shown to code that is still waiting for an answer. */
  latestShown(): number
  isAlive(): boolean
  /**
   * Calls a service. `effect` happens at one instant between request and answer, unless the weather or an
   * outage prevents it.
   */
  call<T>(operation: string, effect: () => T | Promise<T>, service?: Service): Promise<T>
  /** Whether a misfortune of this kind happens to the process now. */
  suffers(misfortune: keyof Weather): boolean
  kill(why: string): void
  /** Freezes the process for this time, or until `thaw`. */
  freeze(forMs: number): void
  thaw(): void
  /** `react` runs once, when the process dies. */
  onDeath(react: () => void): void
}

/**
 * The longest latency in each direction of a usual call, and of a slow one. The SDK gives up after three tries
 * of 3 s.
 */
const USUAL_LATENCY_MS_MAX = 6
const SLOW_LATENCY_MS_MAX = 9_000
const FREEZE_MS_MAX = 40_000
/** The share of calls to a service in an outage that end by a timeout. The other calls are refused at once. */
const OUTAGE_TIMEOUT_SHARE = 0.3

const NEVER = new Promise<never>(() => undefined)

export function createProcess(world: World, name: string): Process {
  const { timeline, history } = world
  const chance = createSeededChance(world.seedOf(`luck of ${name}`))
  const skewMs = Math.round((chance.fraction() * 2 - 1) * world.scenario.weather.skewMs)
  const wall = createWallClock(world, name, skewMs)
  const delayedEvents: Array<() => void> = []
  const deathListeners: Array<() => void> = []
  let alive = true
  let frozen = false
  let cancelThaw = () => {}

  const note = (text: () => string) => history.note(timeline.now(), name, text)
  /** Delivers an event to the process: at once, after its freeze, or never. */
  const deliver = (event: () => void) => {
    if (!alive) return
    if (frozen) delayedEvents.push(event)
    else event()
  }
  const happens = (share: number) => share > 0 && chance.fraction() < share

  const kill = (why: string) => {
    if (!alive) return
    note(() => `dies: ${why}`)
    alive = false
    delayedEvents.length = 0
    for (const react of deathListeners.splice(0)) react()
  }
  const thaw = () => {
    if (!frozen) return
    frozen = false
    cancelThaw()
    for (const event of delayedEvents.splice(0))
      if (alive && !frozen) event()
      else delayedEvents.push(event)
  }
  const freeze = (forMs: number) => {
    frozen = true
    cancelThaw()
    cancelThaw = Number.isFinite(forMs) ? timeline.at(timeline.now() + forMs, thaw) : () => {}
  }
  const latency = (isSlow: boolean) =>
    chance.fraction() * (isSlow ? SLOW_LATENCY_MS_MAX : USUAL_LATENCY_MS_MAX)
  const misfortune = (share: number, freezing: number, operation: string) => {
    if (happens(share)) kill(`at ${operation}`)
    else if (happens(freezing)) {
      const forMs = chance.fraction() * FREEZE_MS_MAX
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
      const answer = (settle: () => void, isLate = isSlow) =>
        timeline.at(timeline.now() + latency(isLate), () => {
          misfortune(weather.death / 2, weather.freeze / 2, `the answer to ${operation}`)
          deliver(settle)
        })
      const fail = (text: string, isLate = isSlow) => {
        note(() => `${operation}: ${text}`)
        answer(() => reject(new BatonError('unavailable', `${operation}: ${text}`)), isLate)
      }
      const begin = () => timeline.at(timeline.now() + latency(isSlow), takeEffect)
      const takeEffect = () => {
        if (isRefused) return fail('no answer, and no effect')
        if (world.isOut(service)) return fail(`${service} is out`, chance.fraction() < OUTAGE_TIMEOUT_SHARE)
        void attempt(effect).then(
          value => (isAnswerLost ? fail('no answer, though it took effect') : answer(() => resolve(value))),
          error => answer(() => reject(error)),
        )
      }
      // A process that freezes between its decision and its request sends the request when it continues.
      deliver(begin)
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
    onDeath: react => void deathListeners.push(react),
    clock: {
      now: wall.now,
      monotonic: () => timeline.now() - START,
      sleep: (ms, signal) =>
        new Promise<void>(resolve => {
          if (!alive) return
          if (signal?.aborted) return resolve()
          const cancel = timeline.at(timeline.now() + Math.max(0, ms), () => deliver(wake))
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

/** Runs now, not in a later turn, because the effect happens at this very instant. */
async function attempt<T>(effect: () => T | Promise<T>): Promise<T> {
  return effect()
}
