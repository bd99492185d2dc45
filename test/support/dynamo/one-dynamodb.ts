import { startDynamoDbLocal } from '../../../local/stores/dynamodb-local.ts'

/** Where the processes of this run of the tests find their DynamoDB Local. */
const PORT = 'BATON_TEST_DYNAMODB_PORT'

/** One DynamoDB Local for all tests, in which each has a database of its own: a start takes a core for two seconds. */
export async function setup(): Promise<(() => Promise<void>) | undefined> {
  if (process.env[PORT]) return undefined
  // Within minutes the optimising compiler costs more than it saves: half of what DynamoDB Local needs of the processor.
  process.env.JAVA_TOOL_OPTIONS ??= '-XX:TieredStopAtLevel=1'
  const { url, stop } = await startDynamoDbLocal()
  process.env[PORT] = new URL(url).port
  return async () => {
    delete process.env[PORT]
    await stop()
  }
}

/** Its port; undefined where there is none. */
export function sharedDynamoDb(): number | undefined {
  return process.env[PORT] === undefined ? undefined : Number(process.env[PORT])
}
