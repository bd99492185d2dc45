import type { SQSEvent, SQSRecord } from 'aws-lambda'
import { afterEach, expect, it, vi } from 'vitest'
import { definitionByQueue } from '../../functions/executor.ts'
import { queueNameOf } from '../../shared/core/types/task-type.ts'
import { defineTask } from '../../shared/define/define-task.ts'

const tasks = ['resize', 'images.second'].map(type => defineTask(type, { run: () => type }))

const eventFrom = (queue: string): Pick<SQSEvent, 'Records'> => ({
  Records: [{ eventSourceARN: `arn:aws:sqs:eu-west-1:111111111111:${queue}` } as SQSRecord],
})

afterEach(() => vi.unstubAllEnvs())

it('A function of several types serves each queue with the definition of its type', () => {
  vi.stubEnv('BATON_SYSTEM', 'Shop')
  const definitionFor = definitionByQueue(tasks)

  const served = ['resize', 'images.second'].map(
    type => definitionFor(eventFrom(queueNameOf('Shop', type))).type,
  )

  expect(served).toEqual(['resize', 'images.second'])
})

it('A function of several types refuses messages of a queue that it does not serve, so that they stay there', () => {
  vi.stubEnv('BATON_SYSTEM', 'Shop')
  const definitionFor = definitionByQueue(tasks)

  expect(() => definitionFor(eventFrom('Shop-q-other'))).toThrow(
    /this function serves the queues Shop-q-resize, .*, and received messages of 'Shop-q-other'/,
  )
})
