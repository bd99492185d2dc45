import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { cancel } from '../../../shared/core/operate/operate.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import { BatonError } from '../../../shared/core/values/values.ts'
import { defineTask } from '../../../shared/define/define-task.ts'
import type { TaskContext } from '../../../shared/define/definitions.ts'
import type { Log } from '../../../shared/ports/machine.ts'
import { claimTask } from '../../../shared/runtime/claim/claim.ts'
import { writeFinish } from '../../../shared/runtime/claim/claimed-task.ts'
import { readTask } from '../../../shared/runtime/kernel/heads.ts'
import { transact } from '../../../shared/runtime/kernel/kernel.ts'
import { wakeTasks } from '../../../shared/runtime/wake.ts'
import { Fatal, Release } from '../../../shared/signals.ts'
import { NOW, SECOND } from '../../support/tasks/a-task.ts'
import {
  aMemorySystem,
  claimed,
  type MemorySystem,
  stored,
  timed,
} from '../../support/worlds/memory-system.ts'
import { runTask } from '../../support/worlds/run-task.ts'

type Line = { readonly level: keyof Log; readonly message: string; readonly fields: Record<string, unknown> }

/** A system, and the lines that it logs about runs. */
function aLoggingSystem(parts: Partial<MemorySystem> = {}) {
  const lines: Line[] = []
  const write =
    (level: keyof Log) =>
    (message: string, fields: object = {}) => {
      if (message.startsWith('run ')) lines.push({ level, message, fields: { ...fields } })
    }
  const log = { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') }
  return { system: { ...aMemorySystem(), ...parts, log } as MemorySystem, lines }
}

// biome-ignore lint/suspicious/noExplicitAny: handlers of any input
type Run = (input: any, context: TaskContext) => unknown

async function run(system: MemorySystem, task: Task, handler: Run): Promise<void> {
  const definition = defineTask('resize', { input: z.unknown(), run: handler })
  await timed(system, runTask(system, task, { workerId: 'w1' }, { definition }))
}

const throwing = (error: unknown) => () => {
  throw error
}
const refused = new TypeError('fetch failed', { cause: new Error('connect ECONNREFUSED 127.0.0.1:1') })

describe('each end of a run is one log line', () => {
  it.each<[string, Run, object, Partial<Line>]>([
    ['a success, for information', () => 1, {}, { level: 'info', message: 'run succeeded' }],
    ['a release, for information', () => new Release(), {}, { level: 'info', message: 'run released' }],
    [
      'a failure with its causes and when it is tried again, as a warning',
      throwing(refused),
      {},
      {
        level: 'warn',
        message: 'run failed',
        fields: {
          error: expect.objectContaining({
            name: 'TypeError',
            stack: expect.stringContaining('fetch failed'),
            causes: [{ name: 'Error', message: 'connect ECONNREFUSED 127.0.0.1:1' }],
          }),
          nextTry: new Date(NOW + SECOND).toISOString(),
          attempt: 1,
        },
      },
    ],
    [
      'a failure without retries left, which says so',
      throwing(new Error('no')),
      { retry: { maxRetries: 0 } },
      { level: 'warn', message: 'run failed', fields: { nextTry: 'never', status: 'failed' } },
    ],
    [
      'a fatal failure, which says so',
      throwing(new Fatal('never')),
      {},
      { level: 'warn', message: 'run failed', fields: { nextTry: 'never' } },
    ],
    [
      'a run that took too long',
      (_input, { signal }) => new Promise((_resolve, reject) => signal.addEventListener('abort', reject)),
      { timeoutMs: 500 },
      {
        level: 'warn',
        message: 'run failed',
        fields: { ms: 500, error: expect.objectContaining({ name: 'TimedOut' }) },
      },
    ],
  ])('%s', async (_name, handler, options, line) => {
    const { system, lines } = aLoggingSystem()
    const task = await stored(system, { options })

    await run(system, task, handler)

    expect(lines).toEqual([
      expect.objectContaining({ ...line, fields: expect.objectContaining(line.fields ?? {}) }),
    ])
    expect(lines[0]?.fields).toMatchObject({ taskId: task.id, runId: expect.stringContaining(task.born) })
  })

  it('the waker logs a lost run, whose task is claimable at once', async () => {
    const { system, lines } = aLoggingSystem()
    const task = await claimed(system, await stored(system))
    await system.clock.advance(task.options.leaseMs + SECOND)

    await wakeTasks(system, [
      { id: task.id, born: task.born, revision: task.revision, hops: 0, delaySeconds: 0 },
    ])

    expect(lines).toMatchObject([
      {
        level: 'warn',
        message: 'run lost',
        fields: { error: { name: 'LeaseLost' }, nextTry: new Date(system.clock.now()).toISOString() },
      },
    ])
  })

  it('a run is counted as lost once, whichever process records it', async () => {
    const { system } = aLoggingSystem()
    const lostAtClaim = await claimed(system, await stored(system, { key: 'claimed-again' }))
    const lostAtLook = await claimed(system, await stored(system, { key: 'looked-at' }))
    await system.clock.advance(lostAtClaim.options.leaseMs + SECOND)

    await claimTask(system, lostAtClaim, { workerId: 'w9' })
    const { id, born, revision } = lostAtLook
    await wakeTasks(system, [{ id, born, revision, hops: 0, delaySeconds: 0 }])
    await writeFinish(system, lostAtLook, { born, fence: 1, outcome: 'succeed' })

    expect(system.counted('LeaseLost')).toBe(2)
  })

  it('a cancelled run is logged by the process that cancelled it, and by its worker', async () => {
    const { system, lines } = aLoggingSystem()
    const task = await stored(system)

    await run(system, task, async (_input, { signal }) => {
      await transact(system, await readTask(system, task.id), current =>
        current ? cancel(current, system.clock.now()) : { ok: false },
      )
      return new Promise((_resolve, reject) => signal.addEventListener('abort', reject))
    })

    expect(lines.map(({ level, message, fields }) => [level, message, fields.reason])).toEqual([
      ['info', 'run cancelled', undefined],
      ['info', 'run stopped', 'cancelled'],
    ])
  })

  it('a run is logged once when the answer to its write was lost', async () => {
    const memory = aMemorySystem()
    let outages = 1
    const apply: typeof memory.tasks.apply = async change => {
      const applied = await memory.tasks.apply(change)
      if (change.after.operation === 'fail' && outages-- > 0) throw new BatonError('unavailable', 'no answer')
      return applied
    }
    const { system, lines } = aLoggingSystem({ ...memory, tasks: { ...memory.tasks, apply } })

    await run(system, await stored(system), throwing(refused))

    expect(lines).toMatchObject([
      { level: 'warn', message: 'run failed', fields: { error: { name: 'TypeError' } } },
    ])
  })
})
