import { describe, expect, it } from 'vitest'
import { headItem } from '../../../shared/aws/dynamo/head/items.ts'
import { MINUTE_LEAD_MS } from '../../../shared/core/bounds.ts'
import { create } from '../../../shared/core/publish.ts'
import type { IndexQuery } from '../../../shared/ports/stores.ts'
import { aPublication, aTask, NOW } from '../../support/tasks/a-task.ts'
import type { Weather } from '../scenario.ts'
import { createEventBus } from './aws/event-bus.ts'
import { createQueue } from './aws/queue.ts'
import { createSchedules } from './aws/schedules.ts'
import { createStream } from './aws/stream.ts'
import { createDrivenWorld, type DrivenWorld } from './driven-world.ts'
import { createProcess } from './process.ts'
import { createSandboxes } from './sandboxes.ts'
import { START } from './world.ts'

/** Each kind of bad weather has the effect that its name says. */

const MINUTE = 60_000
const OPEN: IndexQuery = { index: 'view', partition: 'resize#open#0', limit: 10 }

const inWeather = (weather: Partial<Weather>, startsAt = START) => createDrivenWorld({ weather, startsAt })

/** The answer to a call, and how often it took effect. */
async function called({ until, process }: DrivenWorld) {
  let effects = 0
  const answer = await until(
    process()
      .call('count', () => {
        effects += 1
        return 'answered'
      })
      .catch(error => error.code),
  )
  return { answer, effects }
}

/** Whether an answer has arrived after this time. */
async function hasEnded(answer: Promise<unknown>, { clock }: DrivenWorld, ms: number): Promise<boolean> {
  let ended = false
  void answer.finally(() => {
    ended = true
  })
  await clock.advance(ms)
  return ended
}

describe('a call', () => {
  it.each([
    ['in calm weather takes effect and is answered', {}, { answer: 'answered', effects: 1 }],
    ['that is refused has no effect', { refused: 1 }, { answer: 'unavailable', effects: 0 }],
    ['whose answer is lost took effect', { answerLost: 1 }, { answer: 'unavailable', effects: 1 }],
  ])('%s', async (_name, weather, expected) => {
    const world = await inWeather(weather)

    expect(await called(world)).toEqual(expected)
  })

  it('takes milliseconds, and seconds when it is slow', async () => {
    const [usual, slow] = [await inWeather({}), await inWeather({ slow: 1 })]

    await called(usual)
    await called(slow)

    expect(usual.clock.now() - START).toBeLessThan(20)
    expect(slow.clock.now() - START).toBeGreaterThan(1_000)
  })

  it('during which its process dies is never answered, whether or not it took effect', async () => {
    const world = await inWeather({ death: 0.5 })
    const outcomes = { died: 0, diedAfterEffect: 0, answered: 0 }

    for (let number = 0; number < 100; number++) {
      let isDone = false
      const process = world.process(`process ${number}`)
      const answer = process.call('do', () => {
        isDone = true
      })
      const isAnswered = await hasEnded(answer, world, 1_000)
      expect(isAnswered).toBe(process.isAlive())
      outcomes[isAnswered ? 'answered' : isDone ? 'diedAfterEffect' : 'died'] += 1
    }

    expect(Object.values(outcomes).every(count => count > 5)).toBe(true)
  })

  it('that freezes its process is answered after the freeze', async () => {
    const world = await inWeather({ freeze: 1 })
    const begunAt = world.clock.now()

    const { answer } = await called(world)

    expect(answer).toBe('answered')
    expect(world.clock.now() - begunAt).toBeGreaterThan(1_000)
    expect(world.notes.join()).toContain('freezes for')
  })

  it('meets no misfortune after the weather has become calm', async () => {
    const weather = { refused: 1, answerLost: 1, death: 1, freeze: 1, slow: 1 }
    const world = await createDrivenWorld({ weather, calmAt: 5_000 })

    await world.clock.advance(5_000)

    expect(await called(world)).toEqual({ answer: 'answered', effects: 1 })
  })
})

describe('a process', () => {
  it('that is frozen receives answers and wakes from sleep only after its freeze', async () => {
    const world = await inWeather({})
    const process = world.process()
    const answer = process.call('ask', () => 'answer')
    const sleep = process.clock.sleep(100)
    process.freeze(5_000)

    const early = [await hasEnded(answer, world, 4_000), await hasEnded(sleep, world, 900)]
    const late = [await hasEnded(answer, world, 200), await hasEnded(sleep, world, 200)]

    expect(early).toEqual([false, false])
    expect(late).toEqual([true, true])
  })

  it('that is dead receives nothing any more', async () => {
    const world = await inWeather({})
    const process = world.process()
    const answer = process.call('ask', () => 'answer')
    const sleep = process.clock.sleep(100)

    process.kill('for the test')

    expect(await hasEnded(answer, world, MINUTE)).toBe(false)
    expect(await hasEnded(sleep, world, MINUTE)).toBe(false)
    expect(
      await hasEnded(
        process.call('ask again', () => 'answer'),
        world,
        MINUTE,
      ),
    ).toBe(false)
  })

  it('has a clock that is wrong by up to the skew', async () => {
    const { world } = await inWeather({ skewMs: 2_000 })

    const skews = Array.from(
      { length: 50 },
      (_, number) => createProcess(world, `${number}`).clock.now() - START,
    )

    expect(Math.min(...skews)).toBeLessThan(-1_000)
    expect(Math.max(...skews)).toBeGreaterThan(1_000)
    expect(skews.every(skew => Math.abs(skew) <= 2_000)).toBe(true)
  })
})

describe('the table', () => {
  const publication = create(aPublication(), undefined, NOW)

  it('has made a write that is answered with an error when only the answer is lost', async () => {
    const world = await inWeather({ answerLost: 1 }, NOW)
    const { tasks } = world.services.systemFor(world.process())

    const answer = await world.until(tasks.apply(publication).catch(error => error.code))

    expect(answer).toBe('unavailable')
    expect(world.table.head('resize:k1')).toEqual(publication.after)
  })

  it('recognises a write that is sent twice', async () => {
    const world = await inWeather({ answerLost: 0.5 }, NOW)
    const { tasks } = world.services.systemFor(world.process())
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, number) => {
        const change = create(aPublication({ key: `k${number}` }), undefined, NOW)
        return world.until(tasks.apply(change).catch(() => ({ applied: 'unknown' })))
      }),
    )

    expect(new Set(answers.map(({ applied }) => applied))).toEqual(new Set([true, 'unknown']))
  })

  it('shows a write in its indexes within 30 ms, and within seconds when they are stale', async () => {
    const [usual, stale] = [await inWeather({}, NOW), await inWeather({ staleIndex: 1 }, NOW)]
    const shownAfter = async (world: DrivenWorld, ms: number) => {
      await world.clock.advance(ms)
      const { tasks } = world.services.systemFor(world.process())
      return (await world.until(tasks.page(OPEN))).entries.length
    }

    for (const world of [usual, stale]) {
      await world.until(world.services.systemFor(world.process()).tasks.apply(publication))
    }

    expect(await shownAfter(usual, 31)).toBe(1)
    expect(await shownAfter(stale, 31)).toBe(0)
    expect(await shownAfter(stale, 5_000)).toBe(1)
  })
})

describe('the counts of canvases', () => {
  const canvas = { canvasId: 'c1', born: 'b1' }

  it.each([
    ['hold an end that is answered with an error when only the answer is lost', { answerLost: 1 }, [3]],
    ['hold no end that was refused', { refused: 1 }, []],
  ])('%s', async (_name, weather, counted) => {
    const world = await createDrivenWorld({ weather, calmAt: 5_000 })
    const { canvases } = world.services.systemFor(world.process())

    const adding = canvases.addEnds(canvas, 0, { ok: [3], bad: [] }, START)
    const answer = await world.until(adding.catch(error => error.code))
    await world.clock.advance(5_000)

    expect(answer).toBe('unavailable')
    expect((await world.until(canvases.ends(canvas, [0]))).get(0)?.ok).toEqual(counted)
  })
})

const DAY_MS = 86_400_000

describe('a queue', () => {
  const bodiesAfter = async (weather: Partial<Weather>, ms: number) => {
    const world = await inWeather(weather)
    const queue = createQueue(world.world, 'q', 10_000)
    queue.send('hello', 0)
    await world.clock.advance(ms)
    return queue.receive(10).map(({ body }) => body)
  }

  it.each([
    ['once', {}, 20, ['hello']],
    ['twice when it is doubled', { messageDoubled: 1 }, 20, ['hello', 'hello']],
    ['never when it is lost', { messageLost: 1 }, 60_000, []],
    ['not at once when it is late', { messageLate: 1 }, 20, []],
    ['in the end when it is late', { messageLate: 1 }, 20_000, ['hello']],
    ['that has almost been there for four days', {}, 4 * DAY_MS - 1_000, ['hello']],
    ['no longer once it has been there for four days', {}, 4 * DAY_MS, []],
  ])('delivers a message %s', async (_name, weather, ms, expected) => {
    expect(await bodiesAfter(weather, ms)).toEqual(expected)
  })
})

describe('the stream', () => {
  it.each([
    ['each change once', {}, 1],
    ['no change in a gap', { streamGap: 1 }, 0],
    ['each change again when it repeats batches', { streamAgain: 1 }, 2],
  ])('delivers %s', async (_name, weather, expected) => {
    const world = await inWeather(weather, NOW)
    const sandboxes = createSandboxes(world.world, {
      timeoutMs: 30_000,
      systemFor: process => world.services.systemFor(process),
    })
    const queue = world.services.addQueue('resize', 'workers')
    const events = createEventBus(world.world, sandboxes)
    const stream = createStream(world.world, { sandboxes, headsOf: world.services.headsOf, events })
    const { id } = aTask()

    stream.push({ key: { pk: id, sk: 'head' }, before: undefined, after: { ...headItem(aTask()) } })
    await world.clock.advance(60_000)

    expect(queue.visible()).toBe(expected)
  })
})

describe('a schedule', () => {
  /** How often each of 200 minutes fired, and how late the latest firing was. */
  const fired = async (weather: Partial<Weather>) => {
    const world = await inWeather(weather)
    const first = START / MINUTE + 10
    const minutes = Array.from({ length: 200 }, (_, number) => first + number)
    const counts = new Map<number, number>()
    let latestMs = 0
    const schedules = createSchedules(world.world, minute => {
      counts.set(minute, (counts.get(minute) ?? 0) + 1)
      latestMs = Math.max(latestMs, world.clock.now() - (minute * MINUTE - MINUTE_LEAD_MS))
    })
    for (const minute of [...minutes, ...minutes]) schedules.ensureMinute(minute)
    await world.clock.advance(220 * MINUTE)
    return { counts: new Set(minutes.map(minute => counts.get(minute) ?? 0)), latestMs }
  }

  it('fires once, within seconds', async () => {
    const { counts, latestMs } = await fired({})

    expect(counts).toEqual(new Set([1]))
    expect(latestMs).toBeLessThanOrEqual(2_000)
  })

  it('fires late, twice or not at all when the scheduler is unreliable', async () => {
    const { counts, latestMs } = await fired({ scheduleOff: 1 })

    expect(counts).toEqual(new Set([0, 1, 2]))
    expect(latestMs).toBeGreaterThan(10_000)
  })
})
