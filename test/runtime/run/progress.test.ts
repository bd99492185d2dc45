import { expect, it } from 'vitest'
import type { Json } from '../../../shared/core/values/values.ts'
import { readTask } from '../../../shared/runtime/kernel/heads.ts'
import { keepInTable } from '../../../shared/runtime/run/keep-in-table.ts'
import { SECOND } from '../../support/tasks/a-task.ts'
import { aMemorySystem, beforeWrites, claimed, noAnswer, stored } from '../../support/worlds/memory-system.ts'

/** The progress of a run after its second heartbeat. The first heartbeat fails, after `during` was called. */
async function progressAfterFailedBeat(reported: Json, during: (report: (value: Json) => void) => void) {
  const system = aMemorySystem()
  const task = await claimed(system, await stored(system))
  const run = task.live[1]
  if (!run) throw new Error('not claimed')
  let beats = 0
  const flaky = beforeWrites(system, () => {
    beats += 1
    if (beats > 1) return
    during(kept.record)
    noAnswer()
  })

  const kept = keepInTable(flaky, { task, run })
  const over = new AbortController()
  const holding = kept.hold(() => undefined, over.signal)
  kept.record(reported)
  await system.clock.advance(7 * SECOND)
  const head = await readTask(system, task.id)
  over.abort()
  await holding
  expect(beats).toBe(2)
  return head?.live[1]?.progress
}

it('the progress of a heartbeat that fails is sent with the next one', async () => {
  expect(await progressAfterFailedBeat({ done: 1 }, () => undefined)).toEqual({ done: 1 })
})

it.each([[{ done: 2 }], [null]])(
  'progress that is reported during a heartbeat that fails replaces that heartbeat’s progress: %j',
  async later => {
    expect(await progressAfterFailedBeat({ done: 1 }, report => report(later))).toEqual(later)
  },
)
