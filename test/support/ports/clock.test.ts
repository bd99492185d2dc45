import { describe, expect, it } from 'vitest'
import { NOW, SECOND } from '../tasks/a-task.ts'
import { createManualClock } from './clock.ts'

describe('the manual clock', () => {
  it('does not move until it is advanced', async () => {
    const clock = createManualClock(NOW)

    await clock.advance(3 * SECOND)

    expect(clock.now()).toBe(NOW + 3 * SECOND)
  })

  it('wakes sleepers in the order of their times, each at its own', async () => {
    const clock = createManualClock(NOW)
    const woken: Array<[string, number]> = []
    const sleeper = async (name: string, ms: number) => {
      await clock.sleep(ms)
      woken.push([name, clock.now() - NOW])
    }
    const sleeping = [sleeper('late', 20), sleeper('early', 10), sleeper('later', 40)]

    await clock.advance(30)

    expect(woken).toEqual([
      ['early', 10],
      ['late', 20],
    ])
    expect(clock.sleepers()).toBe(1)
    await clock.advance(10)
    await Promise.all(sleeping)
  })

  it('lets a woken sleeper sleep again within the same span', async () => {
    const clock = createManualClock(NOW)
    const beats: number[] = []
    const beating = (async () => {
      while (beats.length < 4) {
        await clock.sleep(5)
        beats.push(clock.now() - NOW)
      }
    })()

    await clock.advance(17)

    expect(beats).toEqual([5, 10, 15])
    await clock.advance(3)
    await beating
  })

  it('wakes a sleeper whose signal aborts, without moving the time', async () => {
    const clock = createManualClock(NOW)
    const over = new AbortController()
    const sleeping = clock.sleep(SECOND, over.signal)

    over.abort()
    await sleeping

    expect([clock.now(), clock.sleepers()]).toEqual([NOW, 0])
    await clock.sleep(SECOND, over.signal)
  })
})
