import { beforeEach, describe, expect, it } from 'vitest'
import type { Claim, FinishMember, RunResult } from '../../shared/api/runs.ts'
import type { Client } from '../../shared/client/client.ts'
import { ProblemError } from '../../shared/client/problem-error.ts'
import { REQUEST_BYTES_MAX } from '../../shared/core/bounds.ts'
import type { Outcome } from '../../shared/core/run/run.ts'
import { fitError } from '../../shared/core/task-error/task-error.ts'
import { jsonBytes } from '../../shared/core/values/values.ts'
import { defineTask } from '../../shared/define/define-task.ts'
import type { TaskDefinition } from '../../shared/define/definitions.ts'
import type { RunEnd, RunLost } from '../../shared/ports/runs.ts'
import { momentOf } from '../../shared/runtime/kernel/system.ts'
import { runClaimed } from '../../shared/runtime/run/run.ts'
import { createHeldRuns, type HeldRun, type HeldRuns } from '../../shared/worker/http/held-runs.ts'
import { keepOverHttp, runHttpWorker } from '../../shared/worker/http/http-worker.ts'
import { createManualClock, type ManualClock } from '../support/ports/clock.ts'

type Beat = Parameters<Client['heartbeatMany']>[0][number]
type Result = Partial<RunResult> & { readonly options?: { readonly heartbeatMs: number } }
/** What the API answers to one member; a thrown error answers the whole request. */
type Answers<Member> = (member: Member) => number | Result | Promise<Result>

let clock: ManualClock
let logged: Array<{ readonly level: string; readonly message: string }>
/** The members of each request, with the moment of the request. */
let beats: Array<{ readonly at: number; readonly runs: readonly Beat[] }>
let ends: Array<{ readonly at: number; readonly runs: readonly FinishMember[] }>
let answerBeat: Answers<Beat>
let answerEnd: Answers<FinishMember>
let client: Client
let held: HeldRuns

beforeEach(() => {
  clock = createManualClock(Date.UTC(2026, 0, 1))
  logged = []
  beats = []
  ends = []
  answerBeat = () => 200
  answerEnd = () => 200
  client = {
    heartbeatMany: async (runs: readonly Beat[]) => {
      beats.push({ at: clock.monotonic(), runs: structuredClone(runs) })
      return Promise.all(runs.map(async run => resultOf(await answerBeat(run))))
    },
    finishMany: async (runs: readonly FinishMember[]) => {
      ends.push({ at: clock.monotonic(), runs: structuredClone(runs) })
      return Promise.all(runs.map(async run => resultOf(await answerEnd(run))))
    },
  } as unknown as Client
  held = createHeldRuns({ client, clock, log })
})

const note = (level: string) => (message: string) => void logged.push({ level, message })
const log = { debug: note('debug'), info: note('info'), warn: note('warn'), error: note('error') }

function resultOf(answer: number | Result): Result {
  return typeof answer === 'number' ? { status: answer } : { status: 200, ...answer }
}

function problem(status: number): ProblemError {
  return new ProblemError({ type: 'about:blank', title: 'No', status, detail: `status ${status}` })
}

function fails(status: number): never {
  throw problem(status)
}

const HOUR_MS = 3_600_000
const LEASE_MS = 15_000

/** A run that is held, with what becomes of it. */
function aHeldRun(name = 'a', { leaseMs = LEASE_MS, heartbeatMs = 5_000 } = {}) {
  const run: HeldRun = {
    ...{ taskId: `t:${name}`, runId: `r:${name}`, fence: 1, heartbeatMs, leaseMs },
    ...{ leaseSince: momentOf(clock), beatAt: 0 },
  }
  const lost: RunLost[] = []
  held.hold(run, why => void lost.push(why))
  return { run, lost }
}

/** Reports the end of the run. `seen` gets how the report ended. */
function finish(run: HeldRun, outcome: Outcome = { outcome: 'succeed' }) {
  const seen: { end?: RunEnd; error?: unknown } = {}
  held.finish(run, outcome).then(
    end => {
      seen.end = end
    },
    error => {
      seen.error = error
    },
  )
  return seen
}

describe('the heartbeats of held runs', () => {
  it('begin 1.5 s after the claim at the latest, also next to runs that are held already', async () => {
    aHeldRun('a')
    await clock.advance(100)
    aHeldRun('b')

    await clock.advance(1_600)

    expect(beats.map(({ at, runs }) => [at, runs.map(({ taskId }) => taskId)])).toEqual([
      [1_500, ['t:a']],
      [1_600, ['t:b']],
    ])
  })

  it('follow a changed heartbeatMs from the next one on', async () => {
    answerBeat = () => ({ options: { heartbeatMs: 1_000 } })
    aHeldRun()

    await clock.advance(3_500)

    expect(beats.map(({ at }) => at)).toEqual([1_500, 2_500, 3_500])
  })

  it.each([0, 429, 503])('store the progress again after a member was answered %i', async status => {
    const { run } = aHeldRun()
    run.progress = { done: 1 }
    answerBeat = () => (beats.length === 1 ? status : 200)

    await clock.advance(12_000)

    expect(beats.map(({ runs }) => runs[0]?.progress)).toEqual([{ done: 1 }, { done: 1 }, undefined])
  })

  it('store the progress again after a request failed, and the newest if the handler has recorded more', async () => {
    const runs = [aHeldRun('a').run, aHeldRun('b').run] as const
    for (const run of runs) run.progress = 1
    answerBeat = () => {
      if (beats.length > 1) return 200
      runs[1].progress = null
      return fails(503)
    }

    await clock.advance(7_000)

    expect(beats.at(-1)?.runs.map(({ progress }) => progress)).toEqual([1, null])
  })

  it('store what the handler recorded during a heartbeat, also in the object that it had recorded before', async () => {
    const { run } = aHeldRun()
    const progress = { done: 1 }
    run.progress = progress
    answerBeat = () => {
      if (beats.length > 1) return 200
      progress.done = 2
      run.progress = progress
      return 200
    }

    await clock.advance(12_000)

    expect(beats.map(({ runs }) => runs[0]?.progress)).toEqual([{ done: 1 }, { done: 2 }, undefined])
  })

  it.each([404, 409])('stop when a member is answered %i', async status => {
    const { lost } = aHeldRun()
    answerBeat = () => ({ status, reason: 'cancelled' })

    await clock.advance(HOUR_MS)

    expect(lost).toEqual(['cancelled'])
    expect(beats).toHaveLength(1)
  })

  it('stop when the run is forgotten', async () => {
    const { run, lost } = aHeldRun()
    await clock.advance(2_000)

    held.forget(run)

    await clock.advance(HOUR_MS)
    expect(beats).toHaveLength(1)
    expect(lost).toEqual([])
    expect(clock.sleepers()).toBe(0)
  })

  it('stop after the end of the run was accepted', async () => {
    const { run } = aHeldRun()
    await clock.advance(2_000)

    const seen = finish(run)
    await clock.advance(HOUR_MS)

    expect(seen.end).toEqual({ outcome: 'succeed' })
    expect(beats).toHaveLength(1)
    expect(ends).toHaveLength(1)
  })
})

describe('the report of an end', () => {
  it.each([0, 401, 403, 429, 500, 503])('is sent again after its member was answered %i', async status => {
    answerEnd = () => (ends.length < 3 ? status : 200)
    const seen = finish(aHeldRun().run)

    await clock.advance(1_000)

    expect(seen.end).toEqual({ outcome: 'succeed' })
    expect(ends).toHaveLength(3)
  })

  it.each([401, 403, 503])(
    'is sent again after %i for the whole request, until the lease ends',
    async status => {
      answerEnd = () => fails(status)
      answerBeat = () => fails(status)
      const { run, lost } = aHeldRun()
      const seen = finish(run)

      await clock.advance(LEASE_MS - 1)
      expect(seen).toEqual({})
      expect(ends.length).toBeGreaterThan(10)
      await clock.advance(251)

      expect(seen.error).toMatchObject({ code: 'unavailable', cause: { status } })
      expect(lost).toEqual(['storage'])
    },
  )

  it.each([404, 409])('ends as stopped after %i', async status => {
    answerEnd = () => ({ status, reason: 'lost' })
    const seen = finish(aHeldRun().run)

    await clock.advance(0)

    expect(seen.end).toEqual({ outcome: 'stopped', why: 'lost' })
  })

  it('is an error, not an end by another process, when 403 lasts until the lease ends', async () => {
    answerEnd = () => ({ status: 403, problem: problem(403).problem })
    answerBeat = () => 403
    const seen = finish(aHeldRun().run)

    await clock.advance(LEASE_MS + 250)

    expect(seen.end).toBeUndefined()
    expect(seen.error).toMatchObject({ code: 'unavailable', cause: { status: 403 } })
  })

  it.each([400, 413, 422])('of a release is an error after %i, at once', async status => {
    answerEnd = () => ({ status, problem: problem(status).problem })
    const seen = finish(aHeldRun().run, { outcome: 'release' })

    await clock.advance(0)

    expect(seen.error).toMatchObject({ code: 'refused', cause: { status } })
  })

  it('of a success that is refused as illegal becomes a failure for good', async () => {
    answerEnd = ({ outcome }) =>
      outcome === 'succeed' ? { status: 413, problem: problem(413).problem } : 200
    const seen = finish(aHeldRun().run)

    await clock.advance(250)

    const error = { name: 'InvalidResult', message: 'status 413' }
    expect(seen.end).toEqual({ outcome: 'fail', fatal: true, error })
  })

  it('of a failure that is refused as illegal is sent with a short error, and then is an error', async () => {
    answerEnd = () => ({ status: 400, problem: problem(400).problem })
    const error = { name: 'Error', message: 'm'.repeat(1_000), stack: 'at' }
    const seen = finish(aHeldRun().run, { outcome: 'fail', error, fatal: true, log: 'lines' })

    await clock.advance(1_000)

    expect(ends.map(({ runs }) => runs[0])).toMatchObject([
      { error, log: 'lines' },
      { error: { name: 'Error', message: expect.stringMatching(/^m+…$/) }, fatal: true },
    ])
    expect(ends[1]?.runs[0]).not.toHaveProperty('log')
    expect(seen.error).toMatchObject({ code: 'refused', cause: { status: 400 } })
  })

  it('carries an error that is cut to what is stored', async () => {
    const error = { name: 'Error', message: 'ü'.repeat(1_000_000) }
    const seen = finish(aHeldRun().run, { outcome: 'fail', error })

    await clock.advance(0)

    const [sent] = ends[0]?.runs ?? []
    expect(sent).toMatchObject({ outcome: 'fail', error: fitError(error) })
    expect(seen.end).toEqual({ outcome: 'fail', error: fitError(error) })
  })
})

/** Ends that are reported together, because the batch before them is still under way. */
async function finishTogether(outcomes: ReadonlyArray<Outcome>) {
  const before = Promise.withResolvers<Result>()
  const answer = answerEnd
  answerEnd = () => before.promise
  finish(aHeldRun('before').run)
  await clock.advance(0)
  answerEnd = answer
  const seen = outcomes.map((outcome, index) => finish(aHeldRun(`${index}`).run, outcome))
  ends = []
  before.resolve({})
  return seen
}

describe('a batch of ends', () => {
  it.each(['ü'.repeat(30_000), '"'.repeat(30_000)])('is bounded by its bytes', async result => {
    const seen = await finishTogether(Array.from({ length: 100 }, () => ({ outcome: 'succeed', result })))

    await clock.advance(0)

    const bodies = ends.map(({ runs }) => JSON.stringify({ runs }))
    for (const body of bodies) {
      expect(Buffer.byteLength(body)).toBeLessThanOrEqual(REQUEST_BYTES_MAX)
      expect(jsonBytes(body)).toBeLessThan(6_291_456)
    }
    expect(seen.every(({ end }) => end?.outcome === 'succeed')).toBe(true)
  })

  it('has as many small ends as a request may have', async () => {
    const seen = await finishTogether(Array.from({ length: 101 }, () => ({ outcome: 'succeed' })))

    await clock.advance(0)

    expect(ends.map(({ runs }) => runs.length)).toEqual([100, 1])
    expect(seen.every(({ end }) => end?.outcome === 'succeed')).toBe(true)
  })

  it.each([400, 413])('that is refused as a whole with %i is sent member by member', async status => {
    answerEnd = member => (member.outcome === 'succeed' && member.result === 'huge' ? fails(status) : 200)
    const results = ['x', 'huge', 'y']
    const seen = await finishTogether(results.map(result => ({ outcome: 'succeed', result })))

    await clock.advance(250)

    expect(ends.map(({ runs }) => runs.length)).toEqual([3, 1, 1, 1, 1])
    expect(seen.map(({ end }) => end)).toMatchObject([
      { outcome: 'succeed', result: 'x' },
      { outcome: 'fail', fatal: true, error: { name: 'InvalidResult', message: `status ${status}` } },
      { outcome: 'succeed', result: 'y' },
    ])
  })

  it('with ends that cannot be delivered does not hold up later ones', async () => {
    answerEnd = member => (member.outcome === 'release' ? 403 : 200)
    const seen = await finishTogether([
      ...Array.from({ length: 100 }, () => ({ outcome: 'release' as const })),
      { outcome: 'succeed' },
    ])

    await clock.advance(500)

    expect(seen.at(-1)?.end).toEqual({ outcome: 'succeed' })
  })
})

/** A claim of an idle task. Its lease ends `leaseLeftMs` from now by the clock of the API. */
function aClaim({ leaseLeftMs = LEASE_MS } = {}): Claim {
  return {
    task: {
      ...{ id: 't:a', type: 't', key: 'a', attempts: { used: 0 } },
      options: { heartbeatMs: 5_000, leaseMs: LEASE_MS, retry: { localRetries: 0 } },
    },
    run: {
      ...{ id: 'r:a', fence: 1, idempotencyKey: 'i' },
      leaseUntil: new Date(clock.now() + leaseLeftMs).toISOString(),
    },
  } as unknown as Claim
}

describe('a run that is kept over HTTP', () => {
  it('is kept no longer after its lease has ended, although heartbeats would still be accepted', async () => {
    const definition = defineTask('t', {
      run: async (_input, ctx) => {
        // The handler sees the end of the lease. The clock is set back before the timers that watch the lease see it.
        clock.step(LEASE_MS)
        const published = ctx.publish({ type: 't', key: 'child' })
        clock.step(-LEASE_MS)
        await published
      },
    }) as unknown as TaskDefinition
    const kept = keepOverHttp({ client, held, clock }, aClaim(), momentOf(clock))

    const ran = runClaimed({ clock, log }, kept, { definition })

    await clock.advance(HOUR_MS)
    expect(await ran).toMatchObject({ outcome: 'stopped' })
    expect(beats).toEqual([])
    expect(clock.sleepers()).toBe(0)
  })

  it.each([
    {
      title: 'a repeated claim returns an older lease',
      claimAgeMs: 60_000,
      leaseLeftMs: 4_000,
      leftMs: 4_000,
    },
    { title: 'a claim returns a new lease', claimAgeMs: 5_000, leaseLeftMs: LEASE_MS, leftMs: LEASE_MS },
    { title: "the API's clock is behind", claimAgeMs: 2_000, leaseLeftMs: -60_000, leftMs: LEASE_MS - 2_000 },
    { title: "the API's clock is ahead", claimAgeMs: 2_000, leaseLeftMs: 60_000, leftMs: LEASE_MS },
  ])('has the rest of its lease when $title', async ({ claimAgeMs, leaseLeftMs, leftMs }) => {
    const claimSince = momentOf(clock)
    await clock.advance(claimAgeMs)

    const kept = keepOverHttp({ client, held, clock }, aClaim({ leaseLeftMs }), claimSince)

    await clock.advance(leftMs - 1)
    expect(kept.hasLeaseEnded()).toBe(false)
    await clock.advance(1)
    expect(kept.hasLeaseEnded()).toBe(true)
  })
})

describe('a worker over HTTP', () => {
  const definition = defineTask('t', { run: () => 'done' }) as unknown as TaskDefinition

  function aWorker(claims: () => Promise<readonly Claim[]>) {
    const errors: unknown[] = []
    const claim = async () => ({ claims: await claims() })
    const settings = {
      tasks: [definition],
      client: { ...client, claim } as unknown as Client,
      onError: ({ error }: { readonly error: unknown }) => void errors.push(error),
    }
    const worker = runHttpWorker(settings, { clock, log, workerId: 'w' })
    return { worker, errors }
  }

  /** A worker that is stopped during a claim, which then brings a task. */
  async function stoppedDuringClaim() {
    const answer = Promise.withResolvers<readonly Claim[]>()
    const { worker, errors } = aWorker(() => answer.promise)
    worker.start()
    await clock.advance(0)
    const stopped = worker.stop()
    answer.resolve([aClaim()])
    await clock.advance(0)
    await stopped
    return errors
  }

  const messages = () => logged.filter(({ level }) => level === 'error').map(({ message }) => message)

  it.each([200, 404, 409])(
    'gives back a claimed task without an error, when the answer is %i',
    async status => {
      answerEnd = () => status

      const errors = await stoppedDuringClaim()

      expect(ends).toMatchObject([{ runs: [{ taskId: 't:a', outcome: 'release' }] }])
      expect(messages()).toEqual([])
      expect(errors).toEqual([])
    },
  )

  it('says that it could not give back a claimed task', async () => {
    answerEnd = () => 503

    await stoppedDuringClaim()

    expect(messages()).toEqual(['a claimed task was not given back; its run ends with its lease'])
  })

  it('says that it could give back no claimed task, and does not speak of a failed claim', async () => {
    answerEnd = () => fails(503)

    const errors = await stoppedDuringClaim()

    expect(messages()).toEqual(['claimed tasks were not given back; their runs end with their leases'])
    expect(errors).toMatchObject([{ status: 503 }])
  })

  it('ends a run with its lease, which began before the answer to the repeated claim', async () => {
    answerBeat = () => fails(503)
    answerEnd = () => fails(503)
    let claimed = 0
    const { worker, errors } = aWorker(async () => {
      claimed += 1
      if (claimed === 1) return fails(503)
      if (claimed === 2) return [aClaim({ leaseLeftMs: LEASE_MS - 1_000 })]
      await clock.sleep(HOUR_MS)
      return []
    })
    worker.start()

    await clock.advance(LEASE_MS - 250)
    expect(errors).toMatchObject([{ status: 503 }])
    await clock.advance(250)

    expect(errors).toMatchObject([{ status: 503 }, { code: 'unavailable' }])
    const stopped = worker.stop()
    await clock.advance(HOUR_MS)
    await stopped
  })

  it('logs a refused end and calls onError', async () => {
    answerEnd = () => ({ status: 422, problem: problem(422).problem })
    let claimed = 0
    const { worker, errors } = aWorker(async () => {
      claimed += 1
      if (claimed === 1) return [aClaim()]
      await clock.sleep(1_000)
      return []
    })
    worker.start()

    await clock.advance(500)

    const stopped = worker.stop()
    await clock.advance(1_000)
    await stopped
    expect(errors).toMatchObject([{ code: 'refused', cause: { status: 422 } }])
    expect(messages()).toEqual(['the end of a run was not reported; the run ends with its lease'])
  })
})
