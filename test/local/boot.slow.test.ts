import { readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { DynamoDBClient, GetItemCommand, PutItemCommand } from '@aws-sdk/client-dynamodb'
import { ReceiveMessageCommand, SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs'
import { CustomResource, type Stack } from 'aws-cdk-lib'
import { AttributeType, TableV2 } from 'aws-cdk-lib/aws-dynamodb'
import { Queue } from 'aws-cdk-lib/aws-sqs'
import { expect, it } from 'vitest'
import { startLocalCloud } from '../../local/cloud.ts'
import { aFolder } from '../support/a-folder.ts'
import { bootTinyCloud, fixtureFunction, linesOf, synthesize } from './tiny-cloud.ts'

const thing =
  (name: string, refuse = false) =>
  (stack: Stack) => {
    const registrar = fixtureFunction(stack, 'Registrar', 'registrar')
    new CustomResource(stack, 'Thing', {
      serviceToken: registrar.functionArn,
      resourceType: 'Custom::Thing',
      properties: { name, refuse },
    })
    if (refuse) return
    new TableV2(stack, 'Items', { partitionKey: { name: 'pk', type: AttributeType.STRING } })
    new Queue(stack, 'Work')
  }

/** Makes the folder look like one of an earlier version, which had one database and no access key. */
function makeEarlier(dataDir: string): void {
  const folder = join(dataDir, 'dynamodb')
  const key = readFileSync(join(dataDir, 'access-key'), 'utf8').trim()
  expect(readdirSync(folder)).toContain(`${key}_us-east-1.db`)
  for (const name of readdirSync(folder))
    renameSync(join(folder, name), join(folder, name.replace(`${key}_us-east-1`, 'shared-local-instance')))
  rmSync(join(dataDir, 'access-key'))
}

const alive = (pid: number) => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

it('a custom resource that answers FAILED fails the boot with its reason', async () => {
  await expect(bootTinyCloud(thing('one', true))).rejects.toThrow(
    'Thing (Custom::Thing) failed to Create: told to refuse',
  )
})

it('a function that only custom resources call soon frees its memory, and others keep a process', async () => {
  const cloud = await bootTinyCloud(stack => {
    thing('one')(stack)
    fixtureFunction(stack, 'Reader', 'writer')
  })
  const processes = (name: string) => cloud.functions.find(name).pids().length

  await cloud.functions.find('Reader').invoke({})

  expect(processes('Reader')).toBe(1)
  await expect.poll(() => processes('Registrar')).toBe(0)
  expect(processes('Reader')).toBe(1)
  await cloud.stop()
})

it('a stack that was never synthesised is named in the error', async () => {
  const assemblyDir = synthesize(stack => void new Queue(stack, 'Work'))
  const booting = startLocalCloud({ assemblyDir, stackName: 'Other', apiPort: 0 })
  await expect(booting).rejects.toThrow('There is no template of stack Other')
})

it('items, messages and custom resources in a data folder outlive a restart; custom resources with changed properties are updated', async () => {
  const dataDir = aFolder()
  const first = await bootTinyCloud(thing('one'), { dataDir })
  const TableName = first.resource('AWS::DynamoDB::GlobalTable').physicalId
  const Key = { pk: { S: 'kept' } }
  await new DynamoDBClient(first.clientOptions).send(new PutItemCommand({ TableName, Item: Key }))
  const QueueUrl = first.resource('AWS::SQS::Queue').physicalId
  await new SQSClient(first.clientOptions).send(new SendMessageCommand({ QueueUrl, MessageBody: 'kept' }))
  const [pid] = first.functions.find('Registrar').pids()
  await first.stop()
  expect(alive(pid!)).toBe(false)

  const second = await bootTinyCloud(thing('two'), { dataDir })

  const found = await new DynamoDBClient(second.clientOptions).send(new GetItemCommand({ TableName, Key }))
  expect(found.Item).toEqual(Key)
  const received = await new SQSClient(second.clientOptions).send(
    new ReceiveMessageCommand({ QueueUrl: second.resource('AWS::SQS::Queue').physicalId }),
  )
  expect(received.Messages?.[0]?.Body).toBe('kept')
  expect(linesOf(second, 'Registrar')).toMatchObject([
    {
      RequestType: 'Update',
      PhysicalResourceId: 'thing-Thing',
      ResourceProperties: { name: 'two' },
      OldResourceProperties: { name: 'one' },
    },
  ])
  await second.stop()
  makeEarlier(dataDir)

  const third = await bootTinyCloud(thing('two'), { dataDir })
  expect(linesOf(third, 'Registrar')).toEqual([])
  const same = await new DynamoDBClient(third.clientOptions).send(new GetItemCommand({ TableName, Key }))
  expect(same.Item).toEqual(Key)
  await third.stop()
})
