import { describe, expect, it } from 'vitest'
import { assertKnownSchema } from '../../../shared/aws/dynamo/documents.ts'
import { createTaskCodec } from '../../../shared/aws/dynamo/head/head-reader.ts'
import { headItem, taskFromItem } from '../../../shared/aws/dynamo/head/items.ts'
import { createDispatchReader } from '../../../shared/aws/sqs/read-dispatch.ts'
import { encodeDispatch } from '../../../shared/aws/sqs/wire.ts'
import { startFlow } from '../../../shared/core/flow/pieces.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import { BatonError } from '../../../shared/core/values/values.ts'
import type { Log } from '../../../shared/ports/machine.ts'
import { aFlow, anEndedRun, aRun, aTask } from '../../support/tasks/a-task.ts'

const definition = aFlow()
const codec = createTaskCodec({
  task: async item => {
    assertKnownSchema(item)
    return taskFromItem(item, definition)
  },
})
const silent: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

/** Reads a message while the table holds `stored`. Returns the dispatch, and the ids that were read from the table. */
async function read(body: string, stored?: Task | Error) {
  const ids: string[] = []
  const head = async (id: string) => {
    ids.push(id)
    if (stored instanceof Error) throw stored
    return stored
  }
  const dispatch = await createDispatchReader({ codec, log: silent, tasks: { head } })(body)
  return { dispatch, ids }
}

const SEEN = aTask({ priority: 3 })
const PRESENT = aTask({ priority: 5, revision: 9 })
const FORM = headItem(SEEN)

describe('a dispatch', () => {
  const flow = aTask({ kind: 'flow', input: { inline: { sku: 'x' } } })
  it.each<[string, Task]>([
    ['a plain task', SEEN],
    [
      'a task with runs',
      aTask({ live: [aRun({ fence: 9 })], ended: [anEndedRun({ fence: 8, state: 'lost' })] }),
    ],
    [
      'a task with everything that callers may set',
      aTask({ userId: 'u', tags: { a: 'b' }, stage: 's', fairnessKey: 'f' }),
    ],
    ['a flow', startFlow(flow, definition)],
  ])('of this version carries %s, and costs no read of the table', async (_what, task) => {
    const { dispatch, ids } = await read(encodeDispatch(codec, { task, passedOn: 2 }))

    expect(dispatch).toEqual({ task, passedOn: 2 })
    expect(ids).toEqual([])
  })

  const WRITTEN_BY_OTHERS: ReadonlyArray<[string, object]> = [
    ['an older version, which carried the task in the internal form of its code', { v: 1, task: SEEN }],
    ['a newer version', { v: 3, id: SEEN.id, head: { quite: 'different' } }],
    ['this version, with a head of a newer one', { v: 2, id: SEEN.id, head: { ...FORM, v: 2 } }],
    [
      'this version, with a head that lacks a required member',
      { v: 2, id: SEEN.id, head: { ...FORM, born: undefined } },
    ],
    ['this version, with a head that is not an object', { v: 2, id: SEEN.id, head: [1] }],
    ['this version, without a head', { v: 2, id: SEEN.id }],
    ['this version, with options that are not JSON', { v: 2, id: SEEN.id, head: { ...FORM, options: '{' } }],
    [
      'this version, with the head of another task',
      { v: 2, id: SEEN.id, head: headItem(aTask({ key: 'other' })) },
    ],
  ]
  describe.each(WRITTEN_BY_OTHERS)('of %s', (_which, message) => {
    it('delivers the stored task', async () => {
      const { dispatch, ids } = await read(JSON.stringify({ ...message, passedOn: 1 }), PRESENT)

      expect(dispatch).toEqual({ task: PRESENT, passedOn: 1 })
      expect(ids).toEqual([SEEN.id])
    })

    it('is dropped when the task is gone, and stays in its queue when the table does not answer', async () => {
      const body = JSON.stringify(message)
      const unavailable = new BatonError('unavailable', 'no answer')
      const newer = new BatonError('newer-schema', 'deploy newer code')

      expect((await read(body)).dispatch).toBeUndefined()
      await expect(read(body, unavailable)).rejects.toBe(unavailable)
      await expect(read(body, newer)).rejects.toBe(newer)
    })
  })

  it.each([
    '',
    'x',
    'null',
    '[]',
    '{}',
    '{"v":2}',
    '{"v":2,"id":7}',
    '{"v":2,"id":"no colon"}',
    '{"v":1,"task":null}',
    '{"v":1,"task":{}}',
    '{"v":1,"task":{"id":["a:b"]}}',
  ])('that does not name a task is dropped: %s', async body => {
    const { dispatch, ids } = await read(body, PRESENT)

    expect(dispatch).toBeUndefined()
    expect(ids).toEqual([])
  })

  it.each(['x', -1, 1.5, null, {}, 1e300])(
    'with %j as its count of passes counts as never passed on',
    async passedOn => {
      const { dispatch } = await read(JSON.stringify({ v: 2, id: SEEN.id, head: FORM, passedOn }))

      expect(dispatch).toEqual({ task: SEEN, passedOn: 0 })
    },
  )

  it('of a flow names its steps instead of carrying them', () => {
    const body = encodeDispatch(codec, { task: startFlow(flow, definition) })

    expect(body).toContain(definition.name)
    expect(body).not.toContain('unreserve')
  })
})
