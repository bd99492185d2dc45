import { expect, it } from 'vitest'
import { z } from 'zod'
import { DELAY_MS_MAX } from '../../../shared/core/bounds.ts'
import { cancel } from '../../../shared/core/operate/operate.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import { defineTask } from '../../../shared/define/define-task.ts'
import type { TaskContext } from '../../../shared/define/definitions.ts'
import { readTask } from '../../../shared/runtime/kernel/heads.ts'
import { changeOf, SECOND } from '../../support/tasks/a-task.ts'
import {
  aMemorySystem,
  type MemorySystem,
  registered,
  stored,
  timed,
} from '../../support/worlds/memory-system.ts'
import { runTask } from '../../support/worlds/run-task.ts'

const CHILD = { type: 'resize', key: 'child' }

/** The outcome of publishing a child within a run after `meanwhile`, and whether the child exists. */
async function publishing(
  meanwhile: (system: MemorySystem, task: Task, context: TaskContext) => Promise<unknown>,
  aborting?: AbortSignal,
  more: object = {},
) {
  const system = aMemorySystem()
  await registered(system)
  const task = await stored(system, { key: 'parent' })
  let published: unknown
  const run = async (_input: unknown, context: TaskContext) => {
    await meanwhile(system, task, context)
    published = await context.publish({ ...CHILD, ...more }).catch((error: unknown) => error)
  }
  const definition = defineTask('resize', { input: z.unknown(), run })
  await timed(
    system,
    runTask(system, task, { workerId: 'w1' }, { definition, ...(aborting && { aborting }) }),
  )
  await system.clock.advance(0)
  return { published, child: await readTask(system, 'resize:child') }
}

it('a child is published while its run lasts', async () => {
  const { published, child } = await publishing(async () => undefined)

  expect(published).toEqual({ id: 'resize:child', created: true })
  expect(child?.state).toBe('open')
})

it.each([
  ['delayMs', Number.NaN],
  ['delayMs', DELAY_MS_MAX + 1],
  ['delayMs', -1],
  ['dueAt', 'tomorrow'],
  ['priority', 1.5],
  ['priority', Number.POSITIVE_INFINITY],
  ['stage', ''],
])('a child is refused with a %s that cannot be stored: %s', async (field, value) => {
  const { published, child } = await publishing(async () => undefined, undefined, { [field]: value })

  expect(published).toMatchObject({ code: 'invalid', problems: [{ path: field }] })
  expect(child).toBeUndefined()
})

it('a child is refused once a heartbeat has found the run gone', async () => {
  const { published, child } = await publishing(async (system, task, { signal }) => {
    const head = await readTask(system, task.id)
    if (head) await system.tasks.apply(changeOf(cancel(head, system.clock.now())))
    await new Promise(resolve => signal.addEventListener('abort', resolve))
  })

  expect(published).toMatchObject({
    name: 'BatonError',
    code: 'refused',
    message: 'resize:child is not published: the run is over: cancelled',
  })
  expect(child).toBeUndefined()
})

it('a child is refused to a process that wakes after its lease, before any of its timers', async () => {
  const { published, child } = await publishing(async system => {
    const wokeAt = system.clock.now() + 60 * SECOND
    Object.assign(system.clock, { now: () => wokeAt })
  })

  expect(published).toMatchObject({
    code: 'refused',
    message: expect.stringContaining('its lease has ended'),
  })
  expect(child).toBeUndefined()
})

it('a child is refused to code that the handler left running when its run ended', async () => {
  const system = aMemorySystem()
  await registered(system)
  const task = await stored(system, { key: 'parent' })
  let left: Promise<unknown> | undefined
  const run = async (_input: unknown, context: TaskContext) => {
    left = system.clock.sleep(5 * SECOND).then(() => context.publish(CHILD))
    await Promise.all([left, Promise.reject(new Error('no'))])
  }
  const definition = defineTask('resize', { input: z.unknown(), run })

  const report = await runTask(system, task, { workerId: 'w1' }, { definition })
  const published = left?.catch((error: unknown) => error)
  await system.clock.advance(5 * SECOND)

  expect(report).toMatchObject({ outcome: 'fail' })
  expect(await published).toMatchObject({
    code: 'refused',
    message: 'resize:child is not published: the run has ended',
  })
  expect(await readTask(system, 'resize:child')).toBeUndefined()
})

const child = defineTask('resize', {
  input: z.object({ width: z.number().transform(String) }),
  run: () => 'resized',
})

/** What a handler got that published by these arguments. */
async function publishingBy(publish: (context: TaskContext) => Promise<unknown>) {
  const system = aMemorySystem()
  await registered(system)
  const task = await stored(system, { key: 'parent', userId: 'u1' })
  let published: unknown
  const run = async (_input: unknown, context: TaskContext) => {
    published = await publish(context).catch((error: unknown) => error)
  }
  await runTask(system, task, { workerId: 'w1' }, { definition: defineTask('resize', { run }) })
  return { published, child: await readTask(system, 'resize:child') }
}

it.each<[string, (context: TaskContext) => Promise<unknown>]>([
  ['its definition', ({ publish }) => publish(child, { width: 2 }, { key: 'child', priority: 3 })],
  [
    'the name of its type',
    ({ publish }) => publish<typeof child>('resize', { width: 2 }, { key: 'child', priority: 3 }),
  ],
  ['a body', ({ publish }) => publish({ type: 'resize', input: { width: 2 }, key: 'child', priority: 3 })],
])('a child is published by %s, with its input as it was given', async (_what, publish) => {
  const { published, child } = await publishingBy(publish)

  expect(published).toEqual({ id: 'resize:child', created: true })
  expect(child).toMatchObject({ priority: 3, userId: 'u1', input: { inline: { width: 2 } } })
})

it('a child is refused when its input does not fit its definition, naming the field', async () => {
  const { published, child: stored } = await publishingBy(({ publish }) =>
    publish(child, { width: '2' as never }, { key: 'child' }),
  )

  expect(published).toMatchObject({
    code: 'invalid',
    message: expect.stringContaining('the input does not fit resize: input.width: '),
    problems: [{ path: 'input.width' }],
  })
  expect(stored).toBeUndefined()
})
