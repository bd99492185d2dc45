import { expect, it } from 'vitest'
import * as z from 'zod'
import { defineTask } from '../../shared/define/define-task.ts'
import { createTestSystem } from '../../shared/testing/index.ts'

const resize = defineTask('resize', { input: z.object({ width: z.int() }), run: () => {} })
const rename = defineTask('rename', { run: () => {} })

const aSystem = () => createTestSystem({ tasks: [resize, rename] })
/** For calls that the compiler would refuse. */
// biome-ignore lint/suspicious/noExplicitAny: as above
const loosely = (value: unknown): any => value

it('an unknown task names the nearest ones', async () => {
  const t = await aSystem()
  for (const key of ['img-1', 'img-2']) await t.publish(resize, { width: 1 }, { key })

  expect(() => t.task('resize:img1')).toThrow(
    "there is no task resize:img1; did you mean 'resize:img-1' or 'resize:img-2'? There are resize:img-1, resize:img-2",
  )
  expect(() => t.children('rename:x')).toThrow('there is no task rename:x')
  expect(() => t.kill('resize:img-3')).toThrow("did you mean 'resize:img-1'")
})

it('a body that is larger than HTTP takes is refused as by HTTP', async () => {
  const t = await aSystem()
  const input = 'x'.repeat(300_000)

  const canvas = { group: Array.from({ length: 15 }, () => ({ type: 'rename', input })) }

  await expect(t.publish(loosely(canvas))).rejects.toMatchObject({ status: 413, code: 'too-large' })
})

it('an unknown type names the types of the system', async () => {
  const t = await aSystem()

  for (const call of [() => t.counts('resise'), () => t.tasks({ type: 'resise' }), () => t.limits('resise')])
    expect(call).toThrow(
      "'resise' is not a type of this test system; did you mean 'resize'? There are resize, rename",
    )
  expect(() => t.fail('resise', 'no')).toThrow(
    "'resise' is neither a type of this test system nor the id of a task",
  )
  await expect(t.publish('resise', {})).rejects.toMatchObject({ name: 'ProblemError', status: 404 })
})

it.each(['3x', '', '-1s', '1h30', -1, Number.NaN])(
  '%j is not a duration, and the message says what is',
  async duration => {
    const t = await aSystem()

    const call = t.advance(duration)

    await expect(call).rejects.toMatchObject({ name: 'BatonError', code: 'invalid' })
    await expect(call).rejects.toThrow(
      /^advance: .* is not a duration; give milliseconds \(0 or more\), or text such as '250ms'/,
    )
  },
)

it.each([
  ['250ms', 250],
  ['1h30m', 5_400_000],
  ['1.5s', 1_500],
  ['1w', 604_800_000],
  [42, 42],
])('%j is a duration', async (duration, ms) => {
  const t = await aSystem()
  const since = t.now().getTime()

  await t.advance(duration)

  expect(t.now().getTime() - since).toBe(ms)
})

it.each([
  [{ tasks: [{ run: () => {} }] }, 'tasks and flows must list what defineTask and defineFlow return'],
  [{ tasks: [undefined] }, 'tasks and flows must list what defineTask and defineFlow return'],
  [{ tasks: [resize], now: 'soon' }, 'now: soon is not a time'],
  [{ types: { a: { kind: 'handler' } } }, "types.a: kind must be 'http', not 'handler'"],
  [{ types: { a: { kind: 'htp' } } }, 'types.a: kind must be one of'],
  [
    { tasks: [resize], schedules: { s: { everyMs: 60_000, task: { type: 'x' } } } },
    "'x' in task.type is not registered",
  ],
])('wrong settings are refused: %#', async (settings, message) => {
  await expect(createTestSystem(loosely(settings))).rejects.toThrow(message)
})

it('a system that never comes to rest says which tasks are open', async () => {
  const again = defineTask('again', {
    run: async (_input, ctx) => void (await ctx.publish({ type: 'again', delayMs: 3_600_000 })),
  })
  const t = await createTestSystem({ tasks: [again] })
  await t.publish(again, {}, { key: 'a' })

  await expect(t.runUntilIdle({ within: '1d' })).rejects.toThrow(
    /tasks are still open after 86400000 ms: again:\w+ \(delayed\); for tasks that continue for ever use advance/,
  )
})

it('a task whose type nobody serves does not keep the system busy', async () => {
  const t = await createTestSystem({ tasks: [rename], types: { encode: { kind: 'http' } } })
  await t.publish('encode', {}, { key: 'a' })
  await t.publish(rename, {}, { key: 'b', workerIds: ['w9'] })

  await t.runUntilIdle()

  expect(t.task('encode:a').status).toBe('ready')
  expect(t.task('rename:b')).toMatchObject({ status: 'ready', statusReason: 'no-worker' })
})
