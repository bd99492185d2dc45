import { CreateQueueCommand, SQSClient } from '@aws-sdk/client-sqs'
import { afterAll, beforeAll } from 'vitest'
import { ACCOUNT_ID, REGION } from '../../../local/account.ts'
import { createFaults } from '../../../local/gateway/faults.ts'
import { type Gateway, startGateway } from '../../../local/gateway/gateway.ts'
import { createMeter } from '../../../local/gateway/meter.ts'
import { type SqsServer, startSqsServer } from '../../../local/stores/sqs-server.ts'

export type AnSqs = {
  client(): SQSClient
  urlOf(queue: string): string
  /** What a queue holds. */
  inspect: SqsServer['inspect']
}

/** Starts the local SQS with these queues for the tests of a file. The result can be used only within tests. */
export function anSqs(queues: readonly string[] = []): AnSqs {
  let gateway: Gateway
  let server: SqsServer
  let client: SQSClient
  beforeAll(async () => {
    gateway = await startGateway(createMeter(), createFaults(), 'key', () => undefined)
    server = await startSqsServer(gateway.url, undefined)
    gateway.serve('sqs', server.answer)
    const credentials = { accessKeyId: 'tester', secretAccessKey: 'local', sessionToken: 'key' }
    client = new SQSClient({ endpoint: gateway.url, region: REGION, credentials })
    for (const QueueName of queues) await client.send(new CreateQueueCommand({ QueueName }))
  })
  afterAll(async () => {
    client?.destroy()
    await gateway?.stop()
    await server?.stop()
  })
  return {
    client: () => client,
    urlOf: queue => `${gateway.url}/${ACCOUNT_ID}/${queue}`,
    inspect: queue => server.inspect(queue),
  }
}
