import { expect, it, vi } from 'vitest'
import { startDynamoDbLocal } from '../../../local/stores/dynamodb-local.ts'
import { aFolder } from '../../support/a-folder.ts'
import { javaOf } from '../../support/local-system/local-process.ts'

it('a store on files that cannot be started again is reported as lost, with the reason', async () => {
  const lost = Promise.withResolvers<string>()
  const dataDir = aFolder()
  const dynamo = await startDynamoDbLocal({ dataDir, onLost: lost.resolve })
  const java = await javaOf(process.pid)
  vi.stubEnv('PATH', '/nowhere')

  process.kill(java, 'SIGKILL')

  expect(await lost.promise).toBe(
    'DynamoDB Local has ended and does not start again: DynamoDB Local needs Java 17 or newer, and no `java` is on the PATH',
  )
  expect(await dynamo.isUp()).toBe(false)
  vi.unstubAllEnvs()
  await dynamo.stop()
})
