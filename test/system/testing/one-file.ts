import { expect, it } from 'vitest'
import { chord } from '../../../shared/define/canvases.ts'
import { createTestSystem } from '../../../shared/testing/index.ts'
import { add, fail, multiply, note } from '../tasks/arithmetic.ts'

/** The tests of one file, which run in memory, and against the system at a URL. */
export function arithmeticTests(url: () => string | undefined): void {
  const aSystem = () => createTestSystem({ tasks: [add, multiply, fail, note], url: url() })

  it('a task succeeds, and a second publish of its key creates nothing', async () => {
    const t = await aSystem()

    const { id } = await t.publish(add, [1, 2, 3], { key: 'sum' })
    await t.runUntilIdle()
    const again = await t.publish(add, [4], { key: 'sum' })

    const { status, result, runs } = await t.task(id)
    expect([status, result, runs.length]).toEqual(['succeeded', 6, 1])
    expect(again).toMatchObject({ id, created: false })
  })

  it('a failed task runs its error callback, which is its child', async () => {
    const t = await aSystem()

    await t.publish(fail, ['no such luck'], {
      key: 'one',
      onError: [{ type: 'note', key: 'told', input: [] }],
    })
    await t.runUntilIdle()

    expect(await t.task('fail:one')).toMatchObject({ status: 'failed', error: { message: 'no such luck' } })
    // A deployed system is idle before it has published the callback, and a list may lag behind its tasks.
    const children = async () => (await t.children('fail:one')).map(({ id, status }) => [id, status])
    await expect.poll(children).toEqual([['note:told', 'succeeded']])
    expect(await t.task('note:told')).toMatchObject({ status: 'succeeded', parentId: 'fail:one' })
  })

  it('a chord hands on its results', async () => {
    const t = await aSystem()

    const { id } = await t.publish(chord([add.with([1, 2]), multiply.with([3, 4])], note.with(['sums'])), {
      key: 'sums',
    })
    await t.runUntilIdle()

    expect(await t.canvas(id)).toMatchObject({ status: 'succeeded', result: { words: ['sums', 3, 12] } })
  })

  it('what is not legal is refused alike', async () => {
    const t = await aSystem()
    await t.publish(add, [1], { key: 'later', delayMs: 3_600_000 })

    const cancelled = await t.cancel('add:later')

    expect(cancelled.status).toBe('cancelled')
    await expect(t.patch('add:later', { priority: 1 })).rejects.toMatchObject({
      name: 'ProblemError',
      status: 409,
    })
    await expect(t.publish('ad', [])).rejects.toMatchObject({ name: 'ProblemError', status: 404 })
    await expect(t.publish(add, ['one'] as never)).rejects.toMatchObject({
      name: 'BatonError',
      code: 'invalid',
    })
    await expect(t.remove('add:none')).rejects.toMatchObject({ name: 'ProblemError', status: 404 })
  })
}
