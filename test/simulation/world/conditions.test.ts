import { describe, expect, it } from 'vitest'
import { encodeMinute } from '../../../shared/aws/sqs/wire.ts'
import { remove } from '../../../shared/core/operate/operate.ts'
import { create } from '../../../shared/core/publish.ts'
import { aPublication, NOW } from '../../support/tasks/a-task.ts'
import { runWaker } from '../actors/functions.ts'
import { generate, SCENARIO_KINDS } from '../generate/generate.ts'
import { sentencesOf } from '../report/sentences.ts'
import type { Outage, Service } from '../scenario.ts'
import { createSchedules } from './aws/schedules.ts'
import { createDrivenWorld, type DrivenWorld } from './driven-world.ts'
import { createProcess } from './process.ts'
import { createSandboxes } from './sandboxes.ts'
import { START } from './world.ts'

/** The properties of a scenario's world: outages, jumping clocks, expiry, and bounds of invocations. */

const MINUTE_MS = 60_000
const SERVICES: readonly Service[] = ['table', 'queues', 'scheduler', 'functions']

const without = (service: Service, ms = 10_000) =>
  createDrivenWorld({ outages: [{ service, from: 0, ms }], calmAt: 3_600_000 })

/** The answer of each service to one call, or the code of its error. */
async function answersIn(world: DrivenWorld) {
  const { until, process } = world
  const one = process()
  const answers = SERVICES.map(async service => {
    const answer = await until(one.call('ask', () => 'answered', service).catch(error => error.code))
    return [service, answer] as const
  })
  return Object.fromEntries(await Promise.all(answers))
}

describe('an outage', () => {
  it.each(SERVICES)('of %s concerns that service alone, and ends', async service => {
    const world = await without(service)

    const during = await answersIn(world)
    await world.clock.advance(10_000)

    const all = Object.fromEntries(SERVICES.map(name => [name, 'answered']))
    expect(during).toEqual({ ...all, [service]: 'unavailable' })
    expect(await answersIn(world)).toEqual(all)
  })

  it('of the scheduler delays the schedules that fell due until it is over', async () => {
    const outage: Outage = { service: 'scheduler', from: 5 * MINUTE_MS, ms: 10 * MINUTE_MS }
    const { world, clock } = await createDrivenWorld({ outages: [outage], calmAt: 3_600_000 })
    const fired: number[] = []
    const schedules = createSchedules(world, () => fired.push(clock.now() - START))

    schedules.ensureMinute(START / MINUTE_MS + 10)
    await clock.advance(30 * MINUTE_MS)

    expect(fired).toHaveLength(1)
    expect(fired[0]).toBeGreaterThanOrEqual(15 * MINUTE_MS)
  })

  it('of functions prevents invocations', async () => {
    const { world, services, until } = await without('functions')
    const sandboxes = createSandboxes(world, { timeoutMs: 1_000, systemFor: services.systemFor })

    expect(await until(sandboxes.invoke('api', async () => 'answered'))).toBeUndefined()
  })
})

describe('a clock that jumps', () => {
  it('is wrong by up to the step, and does not change the monotonic clock', async () => {
    const { world, clock } = await createDrivenWorld({ weather: { stepMs: 3_000 }, calmAt: 3_600_000 })
    const process = createProcess(world, 'a process')
    const errors: number[] = []

    const begunAt = process.clock.monotonic()
    for (let second = 0; second < 300; second++) {
      await clock.advance(1_000)
      errors.push(process.clock.now() - clock.now())
    }

    expect(new Set(errors).size).toBeGreaterThan(5)
    expect(Math.min(...errors)).toBeLessThan(-1_000)
    expect(Math.max(...errors)).toBeGreaterThan(1_000)
    expect(errors.every(error => Math.abs(error) <= 3_000)).toBe(true)
    expect(process.clock.monotonic() - begunAt).toBe(300_000)
  })
})

describe('an expired head', () => {
  const publication = create(aPublication(), undefined, NOW)

  it('is deleted some time later if the scenario says so, and kept otherwise', async () => {
    const world = await createDrivenWorld({ startsAt: NOW, conditions: { ttlLagMs: 1_000 } })
    const kept = await createDrivenWorld({ startsAt: NOW })

    for (const { until, services, process, clock } of [world, kept]) {
      const { tasks } = services.systemFor(process())
      await until(tasks.apply(publication))
      const { change } = { change: remove(publication.after, NOW) }
      await until(tasks.apply(change))
      await clock.advance((change.after.expiresAt ?? 0) - NOW + 1_001)
    }

    expect(world.table.head('resize:k1')).toBeUndefined()
    expect(kept.table.head('resize:k1')?.state).toBe('removed')
  })
})

describe('the waker', () => {
  it.each([1, 5])('has at most %i invocations at once', async wakers => {
    const { world, services, clock } = await createDrivenWorld({ conditions: { wakers } })
    let [active, most] = [0, 0]
    runWaker(world, services.wakes, {
      invoke: async () => {
        active += 1
        most = Math.max(most, active)
        await new Promise<void>(resolve => world.timeline.at(world.timeline.now() + 5_000, resolve))
        active -= 1
        return undefined
      },
    })

    for (let minute = 0; minute < 100; minute++) services.wakes.send(encodeMinute({ minute }), 0)
    await clock.advance(4_000)

    expect(most).toBe(wakers)
  })
})

describe('an environment of a function', () => {
  it.each([
    ['30 invocations by default', {}, 2],
    ['as many as the scenario says', { conditions: { invocations: 100 } }, 1],
  ])('serves %s', async (_name, given, expected) => {
    const { world, services, until } = await createDrivenWorld(given)
    const sandboxes = createSandboxes(world, { timeoutMs: 1_000, systemFor: services.systemFor })
    const names = new Set<string>()

    for (let nth = 0; nth < 40; nth++)
      await until(sandboxes.invoke('api', async ({ process }) => names.add(process.name)))

    expect(names.size).toBe(expected)
  })
})

describe('the store', () => {
  it('refuses what DynamoDB would refuse, and says why', async () => {
    const { services, process, until } = await createDrivenWorld({ startsAt: NOW, trial: 'signals' })
    const { tasks } = services.systemFor(process())
    const change = create(aPublication(), undefined, NOW)

    const writing = tasks.apply({ ...change, after: { ...change.after, dueAt: Number.NaN } })

    await expect(until(writing)).rejects.toThrow('the number NaN')
  })
})

it.each(SCENARIO_KINDS)(
  'a scenario of kind %s can be written as sentences, and is the same every time',
  kind => {
    const scenario = generate(7, kind)

    expect(sentencesOf(scenario)).toContain('seed 7')
    expect(generate(7, kind)).toEqual(scenario)
    expect(JSON.parse(JSON.stringify(scenario))).toEqual(scenario)
  },
)
