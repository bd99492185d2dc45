import { describe, expect, it } from 'vitest'
import { assertKnownSchema, plainItem } from '../../../../shared/aws/dynamo/documents.ts'
import { bodyItem, runFromItem } from '../../../../shared/aws/dynamo/head/body-requests.ts'
import { headItem, isHeadImage, taskFromItem } from '../../../../shared/aws/dynamo/head/items.ts'
import { create } from '../../../../shared/core/publish.ts'
import { claim } from '../../../../shared/core/run/claim.ts'
import { finish } from '../../../../shared/core/run/finish.ts'
import { BatonError } from '../../../../shared/core/values/values.ts'
import {
  aFlow,
  afterOf,
  anEndedRun,
  aPublication,
  aRun,
  aTask,
  BORN,
  changeOf,
  DAY,
  NOW,
} from '../../../support/tasks/a-task.ts'

/**
 * The size of an item by the rules of the DynamoDB developer guide ("item sizes and formats"), numbers at their
 * largest.
 */
function sizeOf(value: unknown): number {
  if (typeof value === 'string') return Buffer.byteLength(value)
  if (typeof value === 'number') return Math.ceil(String(Math.abs(value)).length / 2) + 1
  if (typeof value === 'boolean') return 1
  const entries = Object.entries(value as object)
  return 3 + entries.reduce((total, [name, member]) => total + name.length + sizeOf(member) + 1, 0)
}

describe('a head', () => {
  it('of a plain task with 200 bytes of input and of result stays well under 1,000 bytes', () => {
    const publication = aPublication({
      key: 'k'.repeat(33),
      traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
      input: 'x'.repeat(198),
    })
    const published = create(publication, undefined, NOW).after
    const running = changeOf(claim(published, { workerId: 'resize-4f0c2a7e91d3' }, NOW + 1)).after
    const word = { born: BORN, fence: 1, outcome: 'succeed' as const }
    const done = changeOf(finish(running, word, NOW + 2, 0)).after
    const withResult = changeOf(finish(running, { ...word, result: 'x'.repeat(198) }, NOW + 2, 0)).after
    const size = (item: object) => sizeOf({ ...item, tok: '12345678' })

    expect(published.id).toHaveLength(40)
    expect(size(headItem(published))).toBeLessThan(600)
    expect(size(headItem(done))).toBeLessThan(700)
    expect(size(headItem(withResult))).toBeLessThan(900)
  })

  it('leaves out values that equal their defaults', () => {
    expect(Object.keys(headItem(aTask())).sort()).toEqual(
      ['pk', 'sk', 'v', 'born', 'rev', 'op', 'due', 'created', 'updated', 'vpk', 'vsk'].sort(),
    )
  })

  it('expires after its end, in whole seconds and never early; an open one never does', () => {
    expect(headItem(aTask())).not.toHaveProperty('ttl')
    expect(headItem(aTask({ state: 'succeeded', expiresAt: NOW + DAY + 1 }))).toMatchObject({
      expires: NOW + DAY + 1,
      ttl: (NOW + DAY) / 1_000 + 1,
    })
  })

  it('does not expire before its owed callbacks are published', () => {
    const ended = { state: 'succeeded', expiresAt: NOW } as const

    expect(headItem(aTask({ ...ended, owes: true }))).not.toHaveProperty('ttl')
    expect(headItem(aTask(ended))).toHaveProperty('ttl')
  })

  it('is the same task read from a stream record or from the table', () => {
    const task = aTask({
      live: [aRun({ progress: [1.5, null] })],
      ended: [anEndedRun({ fence: 2 })],
      retrying: true,
    })
    const image = wireOf(headItem(task))

    expect(isHeadImage(image.M ?? {})).toBe(true)
    expect(taskFromItem(plainItem(image.M ?? {}))).toEqual(task)
    expect(isHeadImage({ pk: { S: 'resize:k1' }, sk: { S: 'in#1' } })).toBe(false)
    expect(isHeadImage({})).toBe(false)
  })

  it('of a flow is read with its definition, in every phase', () => {
    const definition = aFlow()
    const published = create(
      aPublication({ flow: definition, options: { deadlineMs: DAY } }),
      undefined,
      NOW,
    ).after
    const running = afterOf(claim(published, { workerId: 'w1' }, NOW))
    const fatal = { outcome: 'fail' as const, fatal: true, error: { name: 'Error', message: 'no' } }
    const undoing = afterOf(finish(running, { born: BORN, fence: 1, ...fatal }, NOW, 0))

    for (const task of [published, running, undoing]) {
      expect(taskFromItem(headItem(task), definition)).toEqual(task)
      expect(() => taskFromItem(headItem(task))).toThrow(/steps .* are not stored/)
    }
  })

  it('keeps where it comes from and what follows it', () => {
    const task = aTask({
      state: 'succeeded',
      stage: 'store',
      owes: true,
      immutable: true,
      parentId: 'resize:k0',
      callbacks: { body: { inline: [] }, onSuccess: 1, onError: 0 },
      previous: { kind: 'result', handOn: 'append', taskId: 'resize:k0', ref: 'out#1', bytes: 300 },
      member: { canvasId: 'c1', born: BORN, leaf: 0, first: 'failed' },
      ended: [anEndedRun({ piece: 'fetch', past: true })],
    })

    expect(taskFromItem(headItem(task))).toEqual(task)
  })

  it('of newer code is refused, naming the task and both versions', () => {
    const newer = { ...headItem(aTask()), v: 2 }

    expect(() => assertKnownSchema(newer)).toThrow(BatonError)
    expect(() => assertKnownSchema(newer)).toThrow(
      expect.objectContaining({
        code: 'newer-schema',
        message: expect.stringMatching(/resize:k1 .*version 2.* up to 1/),
      }),
    )
  })
})

describe('items next to heads', () => {
  it('expire in whole seconds, never early', () => {
    const write = { ref: `in#${BORN}#1#0`, value: {}, expiresAt: NOW + 1 }

    expect(bodyItem('resize:k1', write)).toEqual({
      pk: 'resize:k1',
      sk: write.ref,
      v: 1,
      ttl: NOW / 1_000 + 1,
      json: '{}',
    })
  })

  it('keep an ended run whole', () => {
    const run = anEndedRun({
      state: 'failed',
      cause: 'timed-out',
      error: { name: '', message: '\ud800' },
      progress: {},
    })

    expect(runFromItem(bodyItem('resize:k1', { ref: 'run', run, expiresAt: NOW }))).toEqual(run)
  })
})

it('attribute values become plain values, whatever the name of a key', () => {
  const values = plainItem({
    list: { L: [{ S: '' }, { N: '-1.5' }, { BOOL: false }, { NULL: true }] },
    map: { M: Object.fromEntries([['__proto__', { N: '1' }]]) },
  })

  expect(values.list).toEqual(['', -1.5, false, null])
  expect(Object.entries(values.map as object)).toEqual([['__proto__', 1]])
})

type Wire = { S?: string; N?: string; BOOL?: boolean; M?: Record<string, Wire> }

function wireOf(value: unknown): Wire {
  if (typeof value === 'string') return { S: value }
  if (typeof value === 'number') return { N: String(value) }
  if (typeof value === 'boolean') return { BOOL: value }
  const members = Object.entries(value as object).map(([name, member]) => [name, wireOf(member)] as const)
  return { M: Object.fromEntries(members) }
}
