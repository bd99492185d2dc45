import { expect, it } from 'vitest'
import { workerChangeIn, workerItem } from '../../../../shared/aws/dynamo/worker/worker-store.ts'
import { NOW, SECOND } from '../../../support/tasks/a-task.ts'

const item = workerItem({ workerId: 'w1', kind: 'http', types: [], startedAt: NOW - SECOND, lastSeen: NOW })
const Keys = { pk: { S: String(item.pk) }, sk: { S: String(item.sk) } }
const NewImage = { ...Keys, seen: { N: String(item.seen) }, started: { N: String(item.started) } }
const position = { SequenceNumber: '0042', ApproximateCreationDateTime: NOW / SECOND }

it.each([
  [
    'joined at the time at which it was seen',
    'worker.joined',
    { eventName: 'INSERT', dynamodb: { NewImage } },
  ],
  [
    'left at about the time at which its item was deleted',
    'worker.left',
    { eventName: 'REMOVE', dynamodb: {} },
  ],
])('a worker has %s', (_how, type, { eventName, dynamodb }) => {
  const change = workerChangeIn({ eventName, dynamodb: { Keys, ...dynamodb, ...position } })

  expect(change).toEqual({ type, workerId: 'w1', at: NOW, position: '0042' })
})

it.each([
  [
    'a sign of life of a registered worker',
    { eventName: 'MODIFY', dynamodb: { Keys, NewImage, ...position } },
  ],
  ['another item', { eventName: 'INSERT', dynamodb: { Keys: { pk: { S: 'types' }, sk: { S: 'w1' } } } }],
  ['an empty record', {}],
])('%s reports neither a worker that joined nor one that left', (_name, record) => {
  expect(workerChangeIn(record)).toBeUndefined()
})
