import { describe, expect, it } from 'vitest'
import { BatonError } from '../../../shared/core/values/values.ts'
import type { ArrivedLetter, DeadLetterQueue } from '../../../shared/ports/messages.ts'
import {
  collectDeadLetters,
  listDeadLetters,
  replayDeadLetters,
} from '../../../shared/runtime/operate/dead-letters.ts'
import { aLetter } from '../../support/tasks/a-letter.ts'
import { aMemorySystem } from '../../support/worlds/memory-system.ts'

/** A queue in memory that delivers every message until it is removed. */
function aQueue(
  letters: readonly ArrivedLetter[],
  removes = true,
): DeadLetterQueue & { left: ArrivedLetter[] } {
  const queue = {
    left: [...letters],
    receive: async () => queue.left.slice(0, 10),
    remove: async (gone: readonly ArrivedLetter[]) => {
      if (!removes) throw new BatonError('unavailable', 'no answer')
      queue.left = queue.left.filter(one => !gone.includes(one))
    },
  }
  return queue
}

const arrived = (messageId: string, more: Partial<ArrivedLetter> = {}): ArrivedLetter => {
  const { queue, subject, sentAt, receives } = aLetter()
  return { messageId, queue, subject, sentAt, receives, body: `{"m":"${messageId}"}`, ...more }
}

describe('collecting', () => {
  it('moves all messages into the table and notes on their tasks that they are missing', async () => {
    const system = aMemorySystem()
    const queue = aQueue(Array.from({ length: 25 }, (_, nth) => arrived(`m${nth}`)))

    const moved = await collectDeadLetters(system, queue, system.clock.now() + 1)

    expect([moved, queue.left]).toEqual([25, []])
    expect((await listDeadLetters(system, { limit: 100 })).letters).toHaveLength(25)
    expect(await system.deadLetters.noteOf('resize:a')).toMatchObject({ born: '01', revision: 3 })
  })

  it('stops at its time; the next round continues', async () => {
    const system = aMemorySystem()
    const queue = aQueue([arrived('m1')])

    expect(await collectDeadLetters(system, queue, system.clock.now())).toBe(0)
    expect(queue.left).toHaveLength(1)
  })

  it('keeps one letter of a message that arrives again because its removal failed', async () => {
    const system = aMemorySystem()
    const stopAt = system.clock.now() + 1

    await expect(collectDeadLetters(system, aQueue([arrived('m1')], false), stopAt)).rejects.toThrow()
    await collectDeadLetters(system, aQueue([arrived('m1')]), stopAt)

    expect((await listDeadLetters(system, { limit: 100 })).letters).toHaveLength(1)
  })

  it('leaves a message in the queue when the table refuses it, and moves the others', async () => {
    const system = aMemorySystem()
    const { put } = system.deadLetters
    const refused = { ...system.deadLetters }
    refused.put = async (letter, body) => {
      if (letter.messageId === 'm1') throw new BatonError('unavailable', 'no answer')
      await put(letter, body)
    }
    const left: ArrivedLetter[][] = []
    const once = aQueue([arrived('m1'), arrived('m2')])
    const queue = {
      ...once,
      receive: async () => (left.length > 0 ? [] : once.receive()),
      remove: async (gone: readonly ArrivedLetter[]) => void left.push([...gone]),
    }

    const moved = await collectDeadLetters({ ...system, deadLetters: refused }, queue, system.clock.now() + 1)

    expect(moved).toBe(1)
    expect(left.flat().map(({ messageId }) => messageId)).toEqual(['m2'])
  })
})

it('a letter is kept, and leaves its queue, when no note can stand next to its task', async () => {
  const system = aMemorySystem()
  const note = async () => Promise.reject(new BatonError('unstorable', 'the key is empty'))
  const queue = aQueue([arrived('m1')])

  const moved = await collectDeadLetters(
    { ...system, deadLetters: { ...system.deadLetters, note } },
    queue,
    system.clock.now() + 1,
  )

  expect([moved, queue.left]).toEqual([1, []])
  expect((await listDeadLetters(system, { limit: 100 })).letters).toHaveLength(1)
})

describe('listing', () => {
  it('reads pages of which only the last has no next', async () => {
    const system = aMemorySystem()
    const messages = Array.from({ length: 4 }, (_, nth) => arrived(`m${nth}`, { sentAt: nth }))
    await collectDeadLetters(system, aQueue(messages), system.clock.now() + 1)

    const first = await listDeadLetters(system, { limit: 2 })
    const second = await listDeadLetters(system, { limit: 2, after: first.next ?? '' })

    expect([first, second].map(({ letters }) => letters.map(({ messageId }) => messageId))).toEqual([
      ['m3', 'm2'],
      ['m1', 'm0'],
    ])
    expect([first.next, second.next]).toEqual([first.letters[1]?.id, undefined])
  })
})

describe('sending again', () => {
  const stream = { queue: 'stream', subject: { kind: 'changes', count: 1, shardId: 's' } } as const

  async function collected(...letters: readonly ArrivedLetter[]) {
    const system = aMemorySystem()
    await collectDeadLetters(system, aQueue(letters), system.clock.now() + 1)
    const listed = (await listDeadLetters(system, { limit: 10 })).letters
    return { system, idOf: (messageId: string) => listed.find(one => one.messageId === messageId)?.id ?? '' }
  }

  it('sends the whole body, and removes the letter and its note', async () => {
    const { system, idOf } = await collected(arrived('m1'))

    const outcomes = await replayDeadLetters(system, [idOf('m1'), idOf('m1').replace('m1', 'm2')])

    expect(outcomes.map(({ outcome }) => outcome)).toEqual(['sent', 'unknown'])
    expect(system.sentAgain).toEqual([{ queue: 'type:resize', body: '{"m":"m1"}' }])
    expect(await system.deadLetters.noteOf('resize:a')).toBeUndefined()
    expect((await listDeadLetters(system, { limit: 10 })).letters).toEqual([])
  })

  it.each([
    ['a batch of the stream', stream, /position/],
    ['a round', { queue: 'schedules', subject: { kind: 'round' } }, /by itself/],
    ['an unknown queue', { queue: 'unknown', subject: { kind: 'unreadable' } }, /not known/],
  ] as const)('is impossible for %s, which stays listed', async (_name, of, reason) => {
    const { system, idOf } = await collected(arrived('m1', of))

    const outcomes = await replayDeadLetters(system, [idOf('m1')])

    expect(outcomes).toEqual([
      { id: idOf('m1'), outcome: 'impossible', reason: expect.stringMatching(reason) },
    ])
    expect((await listDeadLetters(system, { limit: 10 })).letters).toHaveLength(1)
  })

  it.each([
    [true, 'failed'],
    [false, 'impossible'],
  ] as const)('keeps the letter when the send fails (transient: %s)', async (transient, outcome) => {
    const { system, idOf } = await collected(arrived('m1'))
    Object.assign(system.resender, { sendAgain: async () => [{ index: 0, reason: 'no', transient }] })

    const outcomes = await replayDeadLetters(system, [idOf('m1')])

    expect(outcomes).toEqual([{ id: idOf('m1'), outcome, reason: 'no' }])
    expect((await listDeadLetters(system, { limit: 10 })).letters).toHaveLength(1)
  })

  it('fails for a letter that cannot be read, and continues with the others', async () => {
    const { system, idOf } = await collected(arrived('m1'), arrived('m2'))
    const { get } = system.deadLetters
    const deadLetters = {
      ...system.deadLetters,
      get: async (id: string) => {
        if (id === idOf('m1')) throw new BatonError('newer-schema', 'a newer version wrote it')
        return get(id)
      },
    }

    const outcomes = await replayDeadLetters({ ...system, deadLetters }, [idOf('m1'), idOf('m2')])

    expect(outcomes).toEqual([
      { id: idOf('m1'), outcome: 'failed', reason: 'a newer version wrote it' },
      { id: idOf('m2'), outcome: 'sent' },
    ])
  })

  it('counts as sent when the letter cannot be removed after it', async () => {
    const { system, idOf } = await collected(arrived('m1'))
    const remove = async () => Promise.reject(new BatonError('unavailable', 'no answer'))

    const outcomes = await replayDeadLetters({ ...system, deadLetters: { ...system.deadLetters, remove } }, [
      idOf('m1'),
    ])

    expect(outcomes).toEqual([{ id: idOf('m1'), outcome: 'sent' }])
  })
})
