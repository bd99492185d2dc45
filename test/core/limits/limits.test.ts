import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { permitsPartition, shardOfPermits } from '../../../shared/aws/dynamo/keys.ts'
import {
  fieldValue,
  freePermitsIn,
  holderIn,
  isBeingClaimed,
  limitName,
  limitValue,
  permitsIn,
  shardOf,
  shardsOf,
} from '../../../shared/core/limits/limits.ts'
import {
  type Grants,
  hadNoEffect,
  type LineNote,
  noteAfterChoice,
  noteAfterLook,
  noteAfterRelease,
  rememberedIn,
  wantedAfterNoEffect,
  wantedBy,
} from '../../../shared/core/limits/line.ts'
import {
  claimableFrom,
  type ReservedSlot,
  startTime,
  usableSlots,
} from '../../../shared/core/limits/slots.ts'
import { aTask, MINUTE, NOW, SECOND } from '../../support/tasks/a-task.ts'

const oddText = fc.string({ unit: 'binary', minLength: 1, maxLength: 60 })

describe('the name of a limit', () => {
  it.each(['\ud800', 'a\udfffb', '\u0000', 'a\nb', '\uffff', '\ufdd0', '\u{1fffe}'])(
    'of the value %j is one that the table takes as a key',
    value => {
      const name = limitName('jobs', 'tenant', fieldValue({ tenant: value }, 'tenant'))

      expect(name.isWellFormed()).toBe(true)
      expect(name).not.toMatch(/[\p{Cc}\p{Cn}]/u)
      expect(name.length).toBeLessThanOrEqual('jobs='.length + 40)
    },
  )

  it('of any text is well-formed and short, and differs where the texts differ', () => {
    fc.assert(
      fc.property(oddText, oddText, (one, other) => {
        const names = [one, other].map(value => fieldValue({ tenant: value }, 'tenant') ?? '')

        expect(names.every(name => name.isWellFormed() && name.length <= 40)).toBe(true)
        expect(names[0] === names[1]).toBe(one === other)
      }),
    )
  })

  it.each(['acme', 'Zürich', '東京', '👩‍👩‍👧', 'with space', '~', '='])(
    'of the value %j shows it as it is',
    value => {
      expect(fieldValue({ tenant: value }, 'tenant')).toBe(value)
      expect(limitValue(aTask({ userId: value }), 'userId')).toEqual({ known: true, value })
    },
  )
})

/** Under this limit a start may be 40 ms late at most. */
const RATE = { name: 'resize', limit: { limit: 50, perMs: SECOND } }
const SLOWER = { name: 'order', limit: { limit: 5, perMs: SECOND } }

const reservedAt = (afterMs: number, limited = RATE): ReservedSlot => ({
  limited,
  slot: { at: NOW + afterMs, rateText: `${limited.limit.limit}/${limited.limit.perMs}` },
})

describe('a claim with reserved slots', () => {
  it.each([
    ['waits until 250 ms before its slot', [reservedAt(999)], false, NOW + 749],
    ['waits until 100 ms before its slot, if it takes permits', [reservedAt(999)], true, NOW + 899],
    [
      'waits for the last of several, to its time',
      [reservedAt(999), reservedAt(20, SLOWER)],
      false,
      NOW + 999,
    ],
  ] as const)('%s', (_case, slots, takesPermits, until) => {
    expect(claimableFrom(slots, takesPermits)).toBe(until)
  })

  it('does not wait without a slot', () => {
    expect(claimableFrom([], false)).toBeLessThan(NOW)
  })

  it.each([
    ['can use a slot that is ahead, and starts there', [reservedAt(200)], 1, NOW + 200],
    ['can use a slot that has begun, and starts now', [reservedAt(-20)], 1, NOW],
    ['has missed a slot that is more than 40 ms old', [reservedAt(-50)], 0, NOW],
    ['has missed one that passes before the last', [reservedAt(0), reservedAt(50, SLOWER)], 1, NOW + 50],
    ['can use all slots at one time', [reservedAt(0), reservedAt(10, SLOWER)], 2, NOW + 10],
  ] as const)('%s', (_case, slots, usable, at) => {
    expect(usableSlots(slots, NOW)).toHaveLength(usable)
    expect(startTime(slots, NOW)).toBe(at)
  })
})

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

const task = { ...aTask(), updatedAt: NOW }
const ofOther = { holder: 'h', taskId: 'resize:other', since: NOW }
const ofTask = { holder: 'h', taskId: task.id, since: NOW }

describe('a task whose claim has found all permits held', () => {
  it.each([
    ['is not being claimed, when runs of other tasks hold them', ofOther, 0, false],
    ['is being claimed, when another worker has just taken a permit for it', ofTask, 9, true],
    ['is not, ten seconds after another worker took a permit for it', ofTask, 10, false],
    ['is not, when the permit for it is older than its head', { ...ofTask, since: NOW - 1 }, 1, false],
  ] as const)('%s', (_case, holder, afterS, expected) => {
    expect(isBeingClaimed(task, { holders: [holder] }, NOW + afterS * SECOND)).toBe(expected)
  })
})

describe('the shards of a limit', () => {
  const sum = (numbers: readonly number[]) => numbers.reduce((total, one) => total + one, 0)
  const permits = (max: number) => shardsOf(max).map(shard => permitsIn(shard, max))

  it.each([
    [1, [1]],
    [8, [8]],
    [9, [8, 1]],
    [20, [8, 8, 4]],
  ])('of %i permits have %j', (max, expected) => {
    expect(permits(max)).toEqual(expected)
  })

  it('have together as many permits as the limit, and none of them fewer under a larger limit', () => {
    for (let max = 1; max <= 1_000; max++) {
      expect(sum(permits(max))).toBe(max)
      for (const shard of shardsOf(max)) {
        expect(permitsIn(shard, max + 1)).toBeGreaterThanOrEqual(permitsIn(shard, max))
      }
    }
  })

  it('count as free what is not held, and nothing where more is held than the limit now allows', () => {
    const held = [0, 0, 0, 1].map((shard, nth) => ({
      ...ofOther,
      holder: holderIn(shard, `012345678${nth}`),
    }))

    expect(freePermitsIn([0, 1], 9, held)).toBe(5)
    expect(freePermitsIn([0], 2, held)).toBe(0)
    expect(freePermitsIn([1], 16, held)).toBe(7)
  })

  it.each([0, 1, 9, 124])('are named by the ids of their holders: %i', shard => {
    expect(shardOf(holderIn(shard, '01K9ZZZZZZABCDEFGHJKMNPQRS'))).toBe(shard)
  })

  it('are one shard for holders that older code recorded', () => {
    expect(holderIn(0, '01K9ZZZZZZABCDEFGHJKMNPQRS')).toBe('ABCDEFGHJKMNPQRS'.slice(-10))
    expect(shardOf('0123456789')).toBe(0)
  })

  it.each([
    ['resize', 0, 'permits#resize'],
    ['resize', 12, 'permits#resize#12'],
    ['resize=a#7', 0, 'permits#resize=a#7'],
    ['resize=a#7', 3, 'permits#resize#3=a#7'],
    ['resize=a=b', 3, 'permits#resize#3=a=b'],
    ['7', 1, 'permits#7#1'],
    ['resize=', 1, 'permits#resize#1='],
  ])('of %s have partitions of their own: %i', (limit, shard, partition) => {
    expect(permitsPartition(limit, shard)).toBe(partition)
    expect(shardOfPermits(partition)).toEqual({ limit, shard })
  })
})
