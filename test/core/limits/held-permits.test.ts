import { describe, expect, it } from 'vitest'
import { permitsPartition, shardOfPermits } from '../../../shared/aws/dynamo/keys.ts'
import {
  freePermitsIn,
  holderIn,
  isBeingClaimed,
  permitsIn,
  shardOf,
  shardsOf,
} from '../../../shared/core/limits/limits.ts'
import { aTask, NOW, SECOND } from '../../support/tasks/a-task.ts'

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
