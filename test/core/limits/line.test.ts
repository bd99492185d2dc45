import { describe, expect, it } from 'vitest'
import type { Grants, LineNote } from '../../../shared/core/limits/line.ts'
import {
  hadNoEffect,
  noteAfterChoice,
  noteAfterLook,
  noteAfterRelease,
  rememberedIn,
  wantedAfterNoEffect,
  wantedBy,
} from '../../../shared/core/limits/line.ts'
import { MINUTE, NOW, SECOND } from '../../support/tasks/a-task.ts'

const EMPTY: LineNote = { lookAt: NOW, isClosed: true, emptyLooks: 0, sent: [] }
const ONE_SLOT: Grants = { free: 1, granted: 0, nextAt: NOW + MINUTE }

/** What a look found that chose these tasks of those that wait. */
const found = (waiting: readonly string[], chosen: readonly string[] = []) => ({
  ...{ waiting, chosen, isSpare: false, isIdle: false },
})

describe('the tasks that a look has dispatched', () => {
  const dispatched = noteAfterChoice(EMPTY, found(['a', 'b', 'c'], ['a', 'b']), ONE_SLOT, NOW)

  it('are not dispatched again for 4 s, then for 8 s', () => {
    const again = noteAfterChoice(dispatched, found(['b', 'c'], ['b']), ONE_SLOT, NOW + 5 * SECOND)

    expect(['a', 'b', 'c'].map(rememberedIn(dispatched, NOW + 3 * SECOND).mayBeSent)).toEqual([
      false,
      false,
      true,
    ])
    expect(rememberedIn(dispatched, NOW + 4 * SECOND).mayBeSent('b')).toBe(true)
    expect(rememberedIn(again, NOW + 12 * SECOND).mayBeSent('b')).toBe(false)
    expect(rememberedIn(again, NOW + 13 * SECOND).mayBeSent('b')).toBe(true)
  })

  it('had no effect when all of them still wait 4 s later', () => {
    expect(hadNoEffect(dispatched, ONE_SLOT, NOW + 3 * SECOND)).toBe(false)
    expect(hadNoEffect(dispatched, ONE_SLOT, NOW + 4 * SECOND)).toBe(true)
    expect(wantedAfterNoEffect(dispatched, ONE_SLOT, NOW + 4 * SECOND, true)).toBe(4)
  })

  it('had an effect when a slot was granted since, though the note still has the ids of all', () => {
    expect(hadNoEffect(dispatched, { ...ONE_SLOT, granted: 1 }, NOW + 4 * SECOND)).toBe(false)
  })

  it('had an effect when one of them has left the line, even if it was dispatched for the first time and the other was not', () => {
    const sooner = noteAfterChoice(EMPTY, found(['a'], ['a']), ONE_SLOT, NOW)
    const raced = noteAfterChoice(sooner, found(['a', 'b'], ['a', 'b']), ONE_SLOT, NOW + MINUTE)
    const later = noteAfterChoice(raced, found(['a']), ONE_SLOT, NOW + 2 * MINUTE)

    expect(hadNoEffect(later, ONE_SLOT, NOW + 2 * MINUTE)).toBe(false)
    expect(wantedBy(later, ONE_SLOT, NOW + 2 * MINUTE)).toBe(1)
  })

  it('need no early look once they have left the line', () => {
    const gone = noteAfterChoice(dispatched, found(['c']), ONE_SLOT, NOW + 10 * SECOND)
    const next = noteAfterLook(gone, found(['c']), ONE_SLOT, NOW + 10 * SECOND)

    expect(next?.lookAt).toBe(NOW + MINUTE - 2 * SECOND)
  })
})

describe('a look that freed permits have caused', () => {
  it('opens the line when fewer tasks wait than permits are free', () => {
    const spare = { ...found([]), isSpare: true }

    expect(noteAfterRelease(EMPTY, EMPTY, spare)).toEqual({ ...EMPTY, isClosed: false })
    expect(noteAfterRelease({ ...EMPTY, isClosed: false }, EMPTY, spare)).toBeUndefined()
    expect(noteAfterRelease(EMPTY, EMPTY, found(['a'], ['a']))).toEqual(EMPTY)
    expect(noteAfterRelease(EMPTY, EMPTY, found(['a']))).toBeUndefined()
  })
})
