import { describe, expect, it } from 'vitest'
import { type DeadLetter, lostMessageOf } from '../../../shared/core/dead-letters.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import { anApiPerTest, expectRefused, published } from '../../support/http/an-api.ts'
import { aLetter } from '../../support/tasks/a-letter.ts'
import { MINUTE, NOW } from '../../support/tasks/a-task.ts'
import { timed } from '../../support/worlds/memory-system.ts'

const api = anApiPerTest()

async function put(...letters: readonly DeadLetter[]): Promise<void> {
  for (const letter of letters) {
    await api.system.deadLetters.put(letter, `{"m":"${letter.messageId}"}`)
    const lost = lostMessageOf(letter)
    if (lost) await api.system.deadLetters.note(lost)
  }
}

const list = (query = '') => api.call('GET', `/v1/dead-letters${query}`)
const replay = (body: object) => api.call('POST', '/v1/dead-letters/replay', body)

describe('dead letters', () => {
  it('are shown with what they were about, one sentence and what to do', async () => {
    const letter = aLetter({ error: 'AccessDenied: no' })
    await put(letter)

    const { status, body } = await list()

    expect(status).toBe(200)
    expect(body).toEqual({
      items: [
        {
          ...{ id: letter.id, queue: 'type:resize', kind: 'dispatch', taskId: 'resize:a', type: 'resize' },
          sentAt: new Date(NOW - MINUTE).toISOString(),
          arrivedAt: new Date(NOW).toISOString(),
          expiresAt: new Date(NOW + 14 * 24 * 60 * MINUTE).toISOString(),
          ...{ receives: 10, bytes: 100, error: 'AccessDenied: no', replayable: true },
          sentence: expect.stringMatching(
            /^The message that announces resize:a to workers was given up before /,
          ),
          next: expect.stringContaining(letter.id),
        },
      ],
    })
  })

  it('are read and sent again in pages, of one queue or of all', async () => {
    const letters = Array.from({ length: 130 }, (_, nth) =>
      aLetter({ messageId: `m${nth}`, sentAt: NOW - nth }),
    )
    await put(...letters, aLetter({ queue: 'wake', messageId: 'w', subject: { kind: 'unreadable' } }))

    const first = (await list('?queue=type:resize&limit=2')).body
    const second = (await list(`?queue=type:resize&limit=2&cursor=${first.nextCursor}`)).body
    const sent = (await replay({ queue: 'type:resize' })).body
    const rest = (await replay({ queue: 'type:resize', cursor: sent.nextCursor })).body

    expect([...first.items, ...second.items].map(({ id }) => id)).toEqual(
      letters.slice(0, 4).map(({ id }) => id),
    )
    expect([sent, rest].map(({ results }) => results.length)).toEqual([100, 30])
    expect(rest.nextCursor).toBeUndefined()
    expect((await list()).body.items.map(({ queue }: { queue: string }) => queue)).toEqual(['wake'])
  })

  it('have a result of their own each', async () => {
    const [one, stream] = [
      aLetter(),
      aLetter({ queue: 'stream', messageId: 's', subject: { kind: 'changes', count: 1, shardId: 's' } }),
    ]
    await put(one, stream)

    const { status, body } = await replay({ ids: [one.id, stream.id, 'wake~1~none', one.id] })

    expect(status).toBe(200)
    expect(body.results.map((result: { status: number }) => result.status)).toEqual([200, 409, 404])
    expect(body.results[1].problem.detail).toContain(`${stream.id} cannot be sent again: it has the position`)
    expect(body.results[2].problem.detail).toContain('there is no dead letter wake~1~none')
    expect(api.system).toMatchObject({ sentAgain: [{ queue: 'type:resize', body: '{"m":"m1"}' }] })
  })

  it('stay listed when their queue does not answer', async () => {
    await put(aLetter())
    const sendAgain = async () => [{ index: 0, reason: 'no answer', transient: true }]
    Object.assign(api.system.resender, { sendAgain })

    const { body } = await replay({ ids: [aLetter().id] })

    expect(body.results).toMatchObject([
      { status: 503, problem: { detail: expect.stringContaining('no answer') } },
    ])
    expect((await list()).body.items).toHaveLength(1)
  })

  it.each([
    ['', {}],
    ['', { ids: ['a'], queue: 'wake' }],
    ['ids', { ids: [] }],
    ['ids', { ids: Array.from({ length: 101 }, String) }],
    ['queue', { queue: 'resize' }],
    ['cursor', { ids: ['a'], cursor: 'x' }],
    ['cursor', { queue: 'wake', cursor: Buffer.from(aLetter().id).toString('base64url') }],
    ['queues', { queues: 'wake' }],
  ])('are refused when %s is wrong: %j', async (path, body) => {
    await expectRefused(replay(body), path)
  })

  it.each(['?queue=resize', '?cursor=x', '?limit=0', '?type=resize'])(
    'are not listed for %s',
    async query => {
      expect((await list(query)).status).toBe(400)
    },
  )
})

describe('why a task waits whose message was given up', () => {
  const whyOf = async (id: string) => (await api.call('GET', `/v1/tasks/${id}/why`)).body

  async function lostLetter(id: string, kind: 'dispatch' | 'look' = 'dispatch'): Promise<DeadLetter> {
    const { born, revision } = (await api.system.tasks.head(id)) as Task
    const letter = aLetter({ subject: { kind, taskId: id, born, revision } })
    await put(letter)
    return letter
  }

  it('names the dead letter, until the task changes', async () => {
    await api.call('POST', '/v1/claims', { type: 'jobs', workerId: 'w' })
    const id = await published(api, { key: 'a' })
    const letter = await lostLetter(id)

    const before = await whyOf(id)
    await api.call('PATCH', `/v1/tasks/${id}`, { priority: 1 })
    const after = await whyOf(id)

    expect(before).toMatchObject({ reason: 'dead-lettered', deadLetterId: letter.id, status: 'ready' })
    expect(before.sentence).toMatch(
      /^jobs:a waits since .*: the message that announces it to workers of jobs/,
    )
    expect(after.reason).toBe('dispatched')
  })

  it('names it for a run whose lease has ended without a look', async () => {
    const id = await published(api, { key: 'a' })
    await api.call('POST', '/v1/claims', { type: 'jobs', workerId: 'ann' })
    await lostLetter(id, 'look')
    const during = await whyOf(id)

    await api.system.clock.advance(MINUTE)
    const after = await whyOf(id)

    expect([during.reason, after.reason]).toEqual(['running', 'dead-lettered'])
    expect(after.sentence).toContain('the message to look at it when the lease of ann ended was given up')
    expect(after.next).toContain('the errors of the waker')
  })

  it('keeps the reason that would hold back the task anyway', async () => {
    const id = await published(api, { key: 'a' })
    await lostLetter(id)
    await timed(api.system, api.call('POST', '/v1/types/jobs/pause'))

    expect((await whyOf(id)).reason).toBe('paused')
  })
})
