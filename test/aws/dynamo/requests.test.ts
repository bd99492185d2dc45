import { describe, expect, it } from 'vitest'
import { itemSize } from '../../../local/gateway/metering.ts'
import {
  batchGetHeads,
  changedPaths,
  getHead,
  putHead,
  updateHead,
} from '../../../shared/aws/dynamo/head/head-requests.ts'
import { countIndex, queryIndex } from '../../../shared/aws/dynamo/index-requests.ts'
import { permitsPartition } from '../../../shared/aws/dynamo/keys.ts'
import { DERIVED_KEY_CHARACTERS_MAX, PERMITS_MAX, TYPE_CHARACTERS_MAX } from '../../../shared/core/bounds.ts'
import type { Change } from '../../../shared/core/change.ts'
import { SHARD_PERMITS_MAX, shardsOf } from '../../../shared/core/limits/limits.ts'
import { create } from '../../../shared/core/publish.ts'
import { claim } from '../../../shared/core/run/claim.ts'
import { finish } from '../../../shared/core/run/finish.ts'
import { heartbeat, lose } from '../../../shared/core/run/lease.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import { aPublication, aRun, aTask, BORN, changeOf, NOW, SECOND } from '../../support/tasks/a-task.ts'

type Update = Change & { readonly before: Task }

/** The update of a head with its aliases spelled out, so that tests read what is written. */
function spelled(change: Change) {
  const { UpdateExpression, ConditionExpression, ExpressionAttributeNames, ...rest } = updateHead(
    'tasks',
    change as Update,
    'token-1',
  )
  const names = Object.entries(ExpressionAttributeNames ?? {}).sort(([a], [b]) => b.length - a.length)
  const spell = (text = '') =>
    names.reduce((spelledText, [alias, name]) => spelledText.replaceAll(alias, name), text)
  return {
    update: spell(UpdateExpression)
      .split(/(?=REMOVE)|, /)
      .map(part => part.trim()),
    condition: spell(ConditionExpression).split(' AND '),
    values: rest.ExpressionAttributeValues,
    rest,
  }
}

const running = aTask({ live: [aRun(), aRun({ fence: 2, workerId: 'w2' })], options: { concurrency: 2 } })

describe('a shard of the permits of a concurrency limit', () => {
  const shard = (idCharacters: number) => {
    const held = Array.from({ length: SHARD_PERMITS_MAX }, (_, nth) => [
      `h~${nth}123456789${shardsOf(PERMITS_MAX).at(-1)}`,
      { M: { of: { S: 'x'.repeat(idCharacters) }, at: { N: String(NOW) } } },
    ])
    return {
      ...{ pk: { S: permitsPartition('resize', 124) }, sk: { S: 'permits' }, v: { N: '1' } },
      ...{
        ttl: { N: '1800000000' },
        count: { N: '8' },
        waits: { N: String(NOW) },
        freed: { N: String(NOW) },
      },
      ...Object.fromEntries(held),
    }
  }

  it('takes one write unit for ids of up to 85 characters', () => {
    expect(itemSize(shard(85))).toBeLessThanOrEqual(1_024)
  })

  it('has room for every permit holder, whatever the ids', () => {
    expect(itemSize(shard(TYPE_CHARACTERS_MAX + 4 * DERIVED_KEY_CHARACTERS_MAX))).toBeLessThan(10_240)
  })
})

describe('the update of a head', () => {
  it('writes only the lease of the run and the operation for a heartbeat', () => {
    const placed = { ...running, place: { name: 'running#resize#0', order: '1' } }
    const change = changeOf(heartbeat(placed, { born: BORN, fence: 1 }, NOW + SECOND))

    const { update, condition, values, rest } = spelled(change)

    expect(update).toEqual(['SET op = :v0', 'live.1.lease = :v1'])
    expect(condition).toEqual(['born = :born', 'attribute_exists(live.1)', 'v <= :schema'])
    expect(values).toEqual({ ':v0': 'beat', ':v1': NOW + 16 * SECOND, ':born': BORN, ':schema': 1 })
    expect(rest).toMatchObject({ ReturnValues: 'ALL_NEW', ReturnValuesOnConditionCheckFailure: 'ALL_OLD' })
  })

  it('has each judged lease in its condition', () => {
    const { condition } = spelled(changeOf(lose(running, NOW + 20 * SECOND)))

    expect(condition).toEqual([
      'born = :born',
      'rev = :rev',
      'live.1.lease = :lease0',
      'live.2.lease = :lease1',
    ])
  })

  it('writes the first live run as a whole map, later ones next to it, and never the other runs', () => {
    const first = changeOf(claim(aTask({ options: { concurrency: 2 } }), { workerId: 'w1' }, NOW))
    const second = changeOf(claim(first.after, { workerId: 'w2' }, NOW))

    expect(spelled(first).update).toContain('live = :v4')
    expect(spelled(second).update.filter(path => path.includes('live'))).toEqual(['live.2 = :v3'])
  })

  it('always states operation and place, because heartbeats change them without a revision', () => {
    const word = { born: BORN, fence: 1, outcome: 'succeed' as const }
    const before = aTask({ live: [aRun()], operation: 'succeed' })

    const { update, values } = spelled(changeOf(finish(before, word, NOW, 0)))

    expect(update.join(', ')).toMatch(/(SET |, )op = /)
    expect(update.join(', ')).toMatch(/REMOVE live, .*ppk, psk/)
    expect(Object.values(values ?? {})).toContain('token-1')
  })
})

describe('changed paths', () => {
  it('are none between equal items', () => {
    expect(changedPaths({ a: 1, live: { 1: { lease: 1 } } }, { a: 1, live: { 1: { lease: 1 } } })).toEqual({
      set: [],
      remove: [],
    })
  })

  it('descend only into maps that both items have, and only as deep as writers meet', () => {
    const before = {
      input: { ref: 'a' },
      live: { 1: { lease: 1 } },
      ended: { 1: { end: 1 } },
      failuresBy: { a: 1 },
    }
    const after = { input: { ref: 'b' }, live: { 2: { lease: 1 } }, ended: { 1: { end: 2 } } }

    expect(changedPaths(before, after)).toEqual({
      set: [
        [['input'], { ref: 'b' }],
        [['live', '2'], { lease: 1 }],
        [['ended', '1'], { end: 2 }],
      ],
      remove: [['live', '1'], ['failuresBy']],
    })
  })
})

describe('other requests', () => {
  it('create a head only under a free id', () => {
    expect(putHead('tasks', create(aPublication(), undefined, NOW), 'token-1')).toMatchObject({
      ConditionExpression: 'attribute_not_exists(#pk)',
      ExpressionAttributeNames: { '#pk': 'pk' },
      Item: { pk: 'resize:k1', sk: 'head', tok: 'token-1' },
    })
  })

  it('read one head strongly and many at half the price', () => {
    expect(getHead('tasks', 'a:b')).toMatchObject({ Key: { pk: 'a:b', sk: 'head' }, ConsistentRead: true })
    expect(batchGetHeads('tasks', ['a:b']).RequestItems).toEqual({
      tasks: { Keys: [{ pk: 'a:b', sk: 'head' }] },
    })
  })

  it('continue a page after an entry from its sort value and id alone', () => {
    const range = { index: 'place', partition: 'ready#resize#0', to: '5' } as const

    expect(queryIndex('tasks', { ...range, limit: 7, after: { id: 'a:b', sort: '3' } })).toMatchObject({
      IndexName: 'place',
      KeyConditionExpression: '#partition = :partition AND #sort <= :to',
      ExpressionAttributeNames: { '#partition': 'ppk', '#sort': 'psk' },
      ExclusiveStartKey: { pk: 'a:b', sk: 'head', ppk: 'ready#resize#0', psk: '3' },
      Limit: 7,
    })
    expect(countIndex('tasks', range)).toMatchObject({ Select: 'COUNT' })
  })
})
