import { expect, it } from 'vitest'
import type { DeadLetter, LostMessage } from '../../shared/core/dead-letters.ts'
import { letterExpiresAt, letterId } from '../../shared/core/dead-letters.ts'
import { aLetter } from '../support/tasks/a-letter.ts'
import type { MakeStores } from './task-store.ts'

/** A body of 1 MiB, as SQS takes it. Each pair of characters is one that takes four bytes. */
const LONG_BODY = '𝄞'.repeat(262_144)

const noteOf = ({ id, arrivedAt }: DeadLetter, more: Partial<LostMessage> = {}): LostMessage => ({
  ...{ taskId: 'resize:a', born: '01', revision: 3, letterId: id, kind: 'dispatch', receives: 10 },
  ...{ at: arrivedAt, expiresAt: letterExpiresAt({ arrivedAt }) },
  ...more,
})

export function deadLettersContract(makeStores: MakeStores): void {
  it('keeps a letter with its whole body, also when it arrives twice', async () => {
    const { deadLetters } = await makeStores()
    for (const [messageId, body] of [
      ['short', '{"v":2}'],
      ['odd', `x${LONG_BODY}`],
    ] as const) {
      const letter = aLetter({ messageId })
      await deadLetters.put(letter, body)
      await deadLetters.put(letter, body)

      expect(await deadLetters.get(letter.id)).toEqual({ letter, body })
    }
    expect((await deadLetters.page({ limit: 10 })).letters).toHaveLength(2)
  })

  it('knows no letter that was never put, or was removed', async () => {
    const { deadLetters } = await makeStores()
    const letter = aLetter()
    await deadLetters.put(letter, LONG_BODY)

    await deadLetters.remove(letter)
    await deadLetters.remove(letter)

    expect(await deadLetters.get(letter.id)).toBeUndefined()
    expect(await deadLetters.get(letterId('wake', 1, 'none'))).toBeUndefined()
    expect(await deadLetters.page({ limit: 10 })).toEqual({ letters: [] })
  })

  it('lists by queue, the newest first, in pages', async () => {
    const { deadLetters } = await makeStores()
    const { sentAt } = aLetter()
    for (const nth of [2, 1, 3])
      await deadLetters.put(aLetter({ messageId: `m${nth}`, sentAt: sentAt + nth }), '{}')
    await deadLetters.put(aLetter({ queue: 'wake', messageId: 'w' }), '{}')
    await deadLetters.put(aLetter({ queue: 'type:resize-2', messageId: 'other' }), '{}')
    const shown = async (query: { queue?: string; after?: string; limit: number }) =>
      (await deadLetters.page(query)).letters.map(({ messageId }) => messageId)

    expect(await shown({ limit: 10 })).toEqual(['w', 'm3', 'm2', 'm1', 'other'])
    expect(await shown({ queue: 'type:resize', limit: 10 })).toEqual(['m3', 'm2', 'm1'])
    expect(await shown({ queue: 'jobs', limit: 10 })).toEqual([])
    const first = await deadLetters.page({ queue: 'type:resize', limit: 2 })
    expect(first.next).toBe(first.letters[1]?.id)
    expect(await shown({ queue: 'type:resize', limit: 2, after: first.next ?? '' })).toEqual(['m1'])
  })

  it('forgets letters and notes after 14 days', async () => {
    const { deadLetters, clock } = await makeStores()
    const letter = aLetter({ arrivedAt: clock.now() })
    await deadLetters.put(letter, '{}')
    await deadLetters.note(noteOf(letter))

    await clock.advance(letterExpiresAt({ arrivedAt: 0 }))

    expect(await deadLetters.get(letter.id)).toBeUndefined()
    expect((await deadLetters.page({ limit: 10 })).letters).toEqual([])
    expect(await deadLetters.noteOf('resize:a')).toBeUndefined()
  })

  it('keeps the last note beside a task, and removes it with its own letter only', async () => {
    const { deadLetters } = await makeStores()
    const [earlier, later] = [aLetter({ messageId: 'earlier' }), aLetter({ messageId: 'later' })]
    for (const letter of [earlier, later]) {
      await deadLetters.put(letter, '{}')
      await deadLetters.note(noteOf(letter))
    }

    expect(await deadLetters.noteOf('resize:a')).toEqual(noteOf(later))
    expect(await deadLetters.noteOf('resize:b')).toBeUndefined()
    await deadLetters.remove(earlier)
    expect(await deadLetters.noteOf('resize:a')).toEqual(noteOf(later))
    await deadLetters.remove(later)
    expect(await deadLetters.noteOf('resize:a')).toBeUndefined()
  })
}
