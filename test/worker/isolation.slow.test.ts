import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { afterEach, describe, expect, it } from 'vitest'
import { BatonError } from '../../shared/core/values/values.ts'
import type { RunContext } from '../../shared/define/definitions.ts'
import type { Log } from '../../shared/ports/machine.ts'
import { outcomeOfResult, outcomeOfThrown } from '../../shared/runtime/handler/handler.ts'
import { Next } from '../../shared/signals.ts'
import { createIsolation, type Isolation } from '../../shared/worker/isolation/isolate.ts'
import { chatty, staged } from './fixtures/chatty.ts'

const FILE = 'test/worker/fixtures/chatty.ts'
const AT = '2026-01-01T12:00:00.000Z'

let isolation: Isolation
afterEach(() => isolation?.end())

/** A run in a process of its own. Returns its outcome and the calls of its context. */
async function run(does: string, parts: Partial<RunContext> = {}, memoryMb?: number) {
  isolation = createIsolation({ file: FILE, ...(memoryMb !== undefined && { memoryMb }) })
  const told: unknown[] = []
  const line = (level: keyof Log) => (message: string, fields?: unknown) =>
    told.push([level, message, fields])
  const context: RunContext = {
    ...{ taskId: 'chatty:k1', type: 'chatty', key: 'k1', runId: 'r.1', attempt: 1, fence: 1 },
    idempotencyKey: 'chatty:k1/b',
    signal: new AbortController().signal,
    progress: value => void told.push(['progress', value]),
    next: (stage, options) => new Next(stage, options),
    publish: async () => ({ id: 'other:child', created: true }),
    log: { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') },
    ...parts,
  }
  const definition = isolation.isolated(chatty)
  const outcome = await Promise.resolve(definition.run({ does, at: AT }, context)).then(
    outcomeOfResult,
    outcomeOfThrown,
  )
  return { outcome, told }
}

/** A run of a task with stages, in a process of its own. */
async function runStaged(parts: Partial<RunContext>): Promise<unknown> {
  isolation = createIsolation({ file: FILE })
  const context = { signal: new AbortController().signal, ...parts } as RunContext
  const definition = isolation.isolated(staged)
  return outcomeOfResult(await definition.run(undefined, context))
}

describe('a handler in a process of its own', () => {
  it('gets its input parsed there, and reaches its worker through its context', async () => {
    const { outcome, told } = await run('tell')

    expect(outcome).toMatchObject({ outcome: 'succeed', result: { at: AT, key: 'k1' } })
    expect(outcome).not.toMatchObject({ result: { pid: process.pid } })
    expect(told).toEqual([
      ['progress', { half: true }],
      ['info', 'a plain line', { at: new Date(AT) }],
      ['warn', 'a line with a function', { fields: expect.stringContaining('Function') }],
    ])
  })

  it('publishes through its worker', async () => {
    const { outcome } = await run('publish')

    expect(outcome).toEqual({ outcome: 'succeed', result: { id: 'other:child', created: true } })
  })

  it('learns why a publish is refused', async () => {
    const { outcome } = await run('publish', {
      publish: () => Promise.reject(new RangeError("no type 'other'")),
    })

    expect(outcome).toMatchObject({
      outcome: 'fail',
      error: { name: 'RangeError', message: "no type 'other'" },
    })
  })

  it('recognises a refusal by its code', async () => {
    const { outcome } = await run('publish-anyway', {
      publish: () => Promise.reject(new BatonError('refused', 'the run is over')),
    })

    expect(outcome).toEqual({ outcome: 'succeed', result: 'refused' })
  })

  it.each([
    [
      'that fails for good',
      'fatal',
      {
        outcome: 'fail',
        fatal: true,
        error: { name: 'TypeError', message: 'never', causes: [{ name: 'Fatal', message: 'no' }] },
      },
    ],
    ['that asks for a later retry', 'later', { outcome: 'fail', retryInMs: 1_234 }],
    ['that gives its task back', 'release', { outcome: 'release', delayMs: 55 }],
    [
      'that moves its task on',
      'move',
      {
        outcome: 'succeed',
        result: 'moved',
        next: { stage: 'store', input: { stage: null }, delayMs: 5 },
      },
    ],
    ['that leaves timers behind', 'leave-timers', { outcome: 'succeed', result: 'left' }],
    ['with impossible progress', 'progress-nothing-stores', { error: { name: 'TypeError' } }],
    [
      'that is killed',
      'die',
      {
        outcome: 'fail',
        error: { name: 'ProcessDied', message: 'the process of the run was ended by SIGKILL' },
      },
    ],
  ])('%s is understood', async (_name, does, outcome) => {
    expect((await run(does)).outcome).toMatchObject(outcome)
  })

  it('is the one of its stage, and gets its step and what was handed on', async () => {
    const first = await runStaged({})
    const about = { step: 'a', direction: 'undo', params: { sku: 'x' }, previous: [1] } as const
    const second = await runStaged({ stage: 'second', ...about })

    expect(first).toEqual({ outcome: 'succeed', next: { stage: 'second', priority: 3 } })
    expect(second).toMatchObject({ outcome: 'succeed', result: { stage: 'second', ...about } })
    expect(second).not.toMatchObject({ result: { pid: process.pid } })
  })

  it('cannot move a flow to another stage', async () => {
    const outcome = await run('move', { step: 'a' })

    expect(outcome.outcome).toMatchObject({ outcome: 'fail', fatal: true, error: { name: 'Fatal' } })
  })

  it('learns when its run is over', async () => {
    const aborting = new AbortController()

    const { outcome } = await run('wait', {
      signal: aborting.signal,
      progress: () => aborting.abort(new Error('the run is over: cancelled')),
    })

    expect(outcome).toMatchObject({ outcome: 'fail', error: { message: 'the run is over: cancelled' } })
  })

  it('may use no more memory than it is given', async () => {
    const { outcome } = await run('weigh', {}, 64)

    expect(outcome).toMatchObject({ outcome: 'succeed' })
    expect('result' in outcome && outcome.result).toBeLessThan(300)
  })

  it('whose input does not fit fails without a retry', async () => {
    isolation = createIsolation({ file: FILE })
    const outcome = await Promise.resolve(
      isolation
        .isolated(chatty)
        .run({ does: 'tell' }, { signal: new AbortController().signal } as RunContext),
    ).catch(outcomeOfThrown)

    expect(outcome).toMatchObject({ outcome: 'fail', fatal: true, error: { name: 'Fatal' } })
  })
})

/**
 * A run whose worker is a process, too. All processes of the run hold the worker's standard output, so `gone` resolves when all of
 * them have ended, whichever process started them.
 */
describe('the processes of a run', () => {
  const pids: number[] = []
  afterEach(() => {
    for (const pid of pids.splice(0)) killIfThere(-pid)
  })

  function aLoneRun(does: string) {
    const worker = spawn(process.execPath, ['test/worker/fixtures/lone-run.ts', does], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    return { worker, spins: spinning(worker), gone: once(worker, 'close') }
  }

  async function spinning(worker: ChildProcess): Promise<number> {
    if (!worker.stdout) throw new Error('nothing can be heard of it')
    const [line] = await once(worker.stdout, 'data')
    const pid = Number.parseInt(String(line), 10)
    pids.push(pid)
    return pid
  }

  it('end with their worker, though the handler spins and has started others', async () => {
    const { worker, spins, gone } = aLoneRun('spin')
    await spins

    worker.kill('SIGKILL')

    await gone
  })

  it('that the handler started end with the run', async () => {
    const { worker, gone } = aLoneRun('leave-process')

    await gone

    expect(worker.exitCode).toBe(0)
  })

  it('are killed when they hang in their exit', async () => {
    const { worker, spins, gone } = aLoneRun('hang-in-exit')
    await spins

    await gone

    expect(worker.exitCode).toBe(0)
  })
})

function killIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // The process has ended, as the test expects.
  }
}
