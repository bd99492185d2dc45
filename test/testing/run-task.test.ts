import { expect, it } from 'vitest'
import * as z from 'zod'
import { defineTask } from '../../shared/define/define-task.ts'
import type { TaskContext } from '../../shared/define/definitions.ts'
import { defineFlow } from '../../shared/define/flow/define-flow.ts'
import { Fatal, Release, RetryLater } from '../../shared/signals.ts'
import { runTask } from '../../shared/testing/index.ts'

const resize = defineTask('resize', {
  input: z.object({ url: z.string(), width: z.int().default(100) }),
  redact: ['url'],
  run: async ({ url, width }, ctx) => {
    ctx.log.info(`fetching ${url}`, { attempt: ctx.attempt })
    ctx.progress({ done: 0.5 })
    const child = await ctx.publish({ type: 'notify', key: 'n', delayMs: 10 })
    return { width, child, at: new Date(0) }
  },
})

/** A task whose handler is the given function. */
function aTask(run: (input: unknown, ctx: TaskContext) => unknown) {
  return defineTask('work', { retry: { maxRetries: 2, delayMs: 1_000, backoff: 'exponential' }, run })
}

const throwing = (error: unknown) =>
  aTask(() => {
    throw error
  })

it('the handler gets its parsed input and a whole context, and everything it does is recorded', async () => {
  const ran = await runTask(resize, { url: 'secret.example' }, { attempt: 2, key: 'img-1' })

  expect(ran).toEqual({
    outcome: 'succeeded',
    result: { width: 100, child: { id: 'notify:n', created: true }, at: '1970-01-01T00:00:00.000Z' },
    logs: [{ level: 'info', message: 'fetching [redacted]', fields: { attempt: 2 } }],
    progress: [{ done: 0.5 }],
    published: [{ type: 'notify', key: 'n', delayMs: 10, id: 'notify:n' }],
  })
})

it('the context is what the options say', async () => {
  const seen: TaskContext[] = []
  const work = aTask((_input, ctx) => void seen.push(ctx))

  await runTask(
    work,
    {},
    { key: 'k', params: { reserve: 1 }, step: 'ship', direction: 'undo', context: { fence: 7 } },
  )
  await runTask(work, {}, { previous: [1, 2], stage: 'store' })

  expect(seen[0]).toMatchObject({
    taskId: 'work:k',
    step: 'ship',
    direction: 'undo',
    params: { reserve: 1 },
    fence: 7,
    attempt: 1,
  })
  expect(seen[1]).toMatchObject({ taskId: 'work:test', stage: 'store', previous: [1, 2] })
  expect(seen[0]?.idempotencyKey).not.toBe(seen[1]?.idempotencyKey)
  expect(seen[1]).not.toHaveProperty('direction')
})

it.each([
  [new Error('no answer'), 1, { outcome: 'retry', retryInMs: 1_000, error: { message: 'no answer' } }],
  [new Error('no answer'), 2, { outcome: 'retry', retryInMs: 2_000 }],
  [new Error('no answer'), 3, { outcome: 'failed' }],
  [new Fatal('never'), 1, { outcome: 'failed', error: { name: 'Fatal', message: 'never' } }],
  [new Error('outer', { cause: new Fatal('inner') }), 1, { outcome: 'failed' }],
  [new RetryLater(60_000), 1, { outcome: 'retry', retryInMs: 60_000 }],
  [new Release(5_000), 1, { outcome: 'released', delayMs: 5_000 }],
])('a thrown %s in attempt %i ends as the system would end it', async (error, attempt, ended) => {
  const ran = await runTask(throwing(error), {}, { attempt })

  expect(ran).toMatchObject(ended)
  expect(ran.thrown).toBe(error)
})

it('a handler of stages continues to the next one, and an unknown stage fails', async () => {
  const staged = defineTask('staged', {
    stages: {
      fetch: (_input, ctx) => ctx.next('store', { input: { file: 'a' }, delayMs: 10 }),
      store: () => 'stored',
    },
  })

  expect(await runTask(staged, {})).toMatchObject({
    outcome: 'next',
    next: { stage: 'store', input: { file: 'a' }, delayMs: 10 },
  })
  expect(await runTask(staged, {}, { stage: 'store' })).toMatchObject({
    outcome: 'succeeded',
    result: 'stored',
  })
  expect(await runTask(staged, {}, { stage: 'stor' })).toMatchObject({
    outcome: 'failed',
    error: { message: "staged has no stage 'stor'; its stages are fetch, store" },
  })
})

it('what the system would refuse fails here, too', async () => {
  const wrongInput = await runTask(resize, { url: 'a', width: 0.5 })
  const wrongResult = await runTask(aTask(() => 10n))
  const wrongProgress = await runTask(aTask((_input, ctx) => ctx.progress('x'.repeat(2_000))))
  const wrongChild = await runTask(aTask((_input, ctx) => ctx.publish({ type: 'no spaces' })))

  expect(wrongInput).toMatchObject({
    outcome: 'failed',
    error: { message: expect.stringContaining('input does not fit resize: width') },
  })
  expect(wrongResult).toMatchObject({ outcome: 'failed', error: { name: 'InvalidResult' } })
  expect(wrongProgress.error?.message).toBe('progress has 2002 bytes; at most 1024 are kept')
  expect(wrongChild.thrown).toMatchObject({ code: 'invalid', problems: [{ path: 'type' }] })
})

/** Resolves when the signal has aborted. */
function abortOf({ signal }: TaskContext): Promise<string> {
  return new Promise(resolve => signal.addEventListener('abort', () => resolve(signal.reason.message)))
}

it('a run whose signal is aborted already does not call the handler', async () => {
  const called: number[] = []
  const work = defineTask('work', { run: () => called.push(1) })

  const ran = await runTask(work, {}, { signal: AbortSignal.abort() })

  expect(ran.outcome).toBe('stopped')
  expect(called).toEqual([])
})

it('a run is stopped by the signal, after which nothing of it counts', async () => {
  const stopping = new AbortController()
  const work = aTask(async (_input, ctx) => {
    stopping.abort()
    await ctx.publish({ type: 'late' })
  })

  const ran = await runTask(work, {}, { signal: stopping.signal })

  expect(ran).toMatchObject({ outcome: 'stopped', thrown: { code: 'refused' }, published: [] })
})

it('a run times out after the given real time, and its handler sees it', async () => {
  const reasons: string[] = []
  const work = aTask(async (_input, ctx) => void reasons.push(await abortOf(ctx)))

  const ran = await runTask(work, {}, { timeoutMs: 5 })

  expect(ran).toMatchObject({ outcome: 'retry', error: { name: 'TimedOut' } })
  expect(reasons).toEqual(['the run is over: timed-out'])
})

it.each([
  [
    defineFlow('order', { steps: [{ name: 'a', do: resize }] }),
    {},
    "'order' is a flow, which createTestSystem runs",
  ],
  [{}, {}, 'give what defineTask returns'],
  [resize, { attempt: 0 }, 'attempt is 0; give a whole number from 1 up'],
  [resize, { timeoutMs: -1 }, 'timeoutMs is -1; give milliseconds, 0 or more'],
])('wrong use is refused: %#', async (definition, options, message) => {
  await expect(runTask(definition as typeof resize, { url: 'a' }, options)).rejects.toThrow(message)
})
