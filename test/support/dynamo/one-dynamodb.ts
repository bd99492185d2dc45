import { startDynamoDbLocal } from '../../../local/stores/dynamodb-local.ts'

/** Where the processes of this run of the tests find their DynamoDB Local. */
const PORT = 'BATON_TEST_DYNAMODB_PORT'

/** All tests share one DynamoDB Local, since a start takes a core for two seconds. Each test has a database of its own. */
export async function setup(): Promise<(() => Promise<void>) | undefined> {
  if (process.env[PORT]) return undefined
  // In so short a life the optimising compiler takes half of the processor time, which is more than it saves.
  process.env.JAVA_TOOL_OPTIONS ??= '-XX:TieredStopAtLevel=1'
  const { url, stop } = await startDynamoDbLocal()
  process.env[PORT] = new URL(url).port
  return async () => {
    delete process.env[PORT]
    await stop()
  }
}

/** The port of the shared DynamoDB Local; undefined when none has started. */
export function sharedDynamoDb(): number | undefined {
  return process.env[PORT] === undefined ? undefined : Number(process.env[PORT])
}
