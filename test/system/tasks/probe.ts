import { z } from 'zod'
import { defineTask } from '../../../shared/define/define-task.ts'
import { Fatal, Release, RetryLater } from '../../../shared/signals.ts'

const WAYS_TO_FAIL = [
  'throw',
  'fatal',
  'later',
  'release',
  'exit',
  'memory',
  'stray',
  'uncaught',
  'fetch',
  'pollute',
] as const

/** The number of attempts that fail in this process beyond those that the input asks for. */
const FAILURES_HERE = Number(process.env.PROBE_FAILURES ?? 0)

const CLOSED_PORT = 'http://127.0.0.1:65533/'

/** A handler that does what its input says, and reports to a URL when it starts, ends, or is aborted. */
export const probe = defineTask('probe', {
  input: z.strictObject({
    /** The URL that receives the reports `{event, key, attempt, fence, runId, pid}`. */
    report: z.string().optional(),
    sleepMs: z.int().default(0),
    /** The number of attempts that fail before one succeeds. */
    failures: z.int().default(0),
    how: z.enum(WAYS_TO_FAIL).default('throw'),
    ignoreSignal: z.boolean().default(false),
    /** At its end the handler publishes a child. Its key is this text and the run's fence. */
    child: z.string().optional(),
    result: z.unknown().optional(),
  }),
  // The lease is the default one, so that a busy machine does not lose it. A test of lost leases publishes a short lease.
  heartbeatMs: 500,
  retry: { maxRetries: 3, backoff: 'fixed', delayMs: 100 },
  async run(input, ctx) {
    const report = async (event: string) => {
      const { key, attempt, fence, runId } = ctx
      const body = JSON.stringify({ event, key, attempt, fence, runId, pid: process.pid })
      if (input.report) await fetch(input.report, { method: 'POST', body }).catch(() => undefined)
    }
    await report('started')
    if (ctx.attempt <= FAILURES_HERE + input.failures) {
      ctx.log.info('about to fail', { how: input.how })
      if (input.how === 'fetch') await fetch(CLOSED_PORT)
      fail(input.how, ctx.attempt)
    }
    if (input.sleepMs > 0) {
      const aborted = await sleepUnless(input.ignoreSignal ? undefined : ctx.signal, input.sleepMs)
      if (aborted) {
        await report('aborted')
        throw ctx.signal.reason
      }
    }
    if (input.child)
      await ctx
        .publish({ type: 'clip', key: `${input.child}-${ctx.fence}`, input: {} })
        .catch(() => report('refused'))
    await report('done')
    const { PROBE_VERSION: version } = process.env
    return (
      input.result ?? { attempt: ctx.attempt, pid: process.pid, ...(version !== undefined && { version }) }
    )
  },
})

function fail(how: (typeof WAYS_TO_FAIL)[number], attempt: number): never {
  if (how === 'fatal') throw new Error('wrapped', { cause: new Fatal('no retry helps') })
  if (how === 'later') throw new RetryLater(50)
  // The delay is long enough for a test to see the released task before the next run.
  if (how === 'release') throw new Release(600_000)
  if (how === 'exit') process.exit(1)
  if (how === 'memory') for (const hoard: unknown[] = []; ; ) hoard.push(new Array(10_000).fill(hoard))
  if (how === 'stray') void Promise.reject(new Error('nobody waits for this'))
  if (how === 'pollute') Object.assign(Object.prototype, { polluted: 'yes' })
  if (how === 'uncaught') setImmediate(() => JSON.parse('{'))
  throw new TypeError(`attempt ${attempt} fails on purpose`)
}

/** Resolves to true when the signal aborts before the time has passed. */
function sleepUnless(signal: AbortSignal | undefined, ms: number): Promise<boolean> {
  return new Promise(resolve => {
    const timer = setTimeout(() => resolve(false), ms)
    signal?.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve(true)
    })
  })
}
