import { describe, expect, it } from 'vitest'
import { defineTask } from '../../../shared/define/define-task.ts'
import { callHandler } from '../../../shared/runtime/handler/handler.ts'
import { Fatal, Release, RetryLater } from '../../../shared/signals.ts'
import { aTaskContext } from '../../support/tasks/a-task-context.ts'

/** Calls a handler, and counts its calls. */
async function called(
  run: (call: number) => unknown,
  options: { localRetries?: number; resultBytesMax?: number; signal?: AbortSignal } = {},
) {
  const { signal, ...rest } = options
  let calls = 0
  const definition = defineTask('resize', {
    run: () => {
      calls += 1
      return run(calls)
    },
  })
  const context = aTaskContext({ type: 'resize', ...(signal && { signal }) })
  const outcome = await callHandler({ ...rest, definition, context, content: async () => ({}) })
  return { outcome, calls }
}

const throwing = (error: unknown) => () => {
  throw error
}

describe('a handler with two local retries', () => {
  it.each([
    ['throws an error', throwing(new Error('no')), 3, { outcome: 'fail', error: { message: 'no' } }],
    ['throws Fatal', throwing(new Fatal('never')), 1, { outcome: 'fail', fatal: true }],
    ['throws RetryLater', throwing(new RetryLater(7_000)), 1, { outcome: 'fail', retryInMs: 7_000 }],
    ['throws RetryLater(0)', throwing(new RetryLater(0)), 1, { outcome: 'fail', retryInMs: 0 }],
    ['throws Release', throwing(new Release(3_000)), 1, { outcome: 'release', delayMs: 3_000 }],
    ['returns Release', () => new Release(3_000), 1, { outcome: 'release', delayMs: 3_000 }],
    ['returns what JSON cannot hold', () => 2n, 1, { outcome: 'fail', fatal: true }],
    ['fails once', (call: number) => (call === 1 ? throwing('no')() : call), 2, { result: 2 }],
  ])('that %s', async (_what, run, times, expected) => {
    const { outcome, calls } = await called(run, { localRetries: 2 })

    expect(calls).toBe(times)
    expect(outcome).toMatchObject(expected)
  })

  it('is not called again when its run has been stopped', async () => {
    const stopping = new AbortController()
    const run = () => {
      stopping.abort()
      throw new Error('no')
    }

    expect((await called(run, { localRetries: 2, signal: stopping.signal })).calls).toBe(1)
  })
})

describe("a result, by a flow's room for it,", () => {
  it.each([
    // The quotes count.
    ['fits', 8, { outcome: 'succeed', result: '12345678' }],
    ['does not fit', 7, { outcome: 'fail', fatal: true, error: { name: 'InvalidResult' } }],
    ['has no room at all', -10, { outcome: 'fail', fatal: true, error: { name: 'InvalidResult' } }],
  ])('%s', async (_what, room, expected) => {
    const { outcome } = await called(() => '12345678', { resultBytesMax: room + 2 })

    expect(outcome).toMatchObject(expected)
  })
})
