import { startDynamoDbLocal } from '../../../local/stores/dynamodb-local.ts'

/** The variable with the port of the DynamoDB Local that the processes of a test run share. */
const PORT_VARIABLE = 'BATON_TEST_DYNAMODB_PORT'

/** Starts one DynamoDB Local for all tests, because a start takes a core for two seconds. Each test has a database of its own. */
export async function setup(): Promise<(() => Promise<void>) | undefined> {
  if (process.env[PORT_VARIABLE]) return undefined
  // In a process that lives so briefly, the optimising compiler takes half of the processor time, more than it saves.
  process.env.JAVA_TOOL_OPTIONS ??= '-XX:TieredStopAtLevel=1'
  const { url, stop } = await startDynamoDbLocal()
  process.env[PORT_VARIABLE] = new URL(url).port
  return async () => {
    delete process.env[PORT_VARIABLE]
    await stop()
  }
}

/** The port of the shared DynamoDB Local; undefined when none has started. */
export function sharedDynamoDb(): number | undefined {
  return process.env[PORT_VARIABLE] === undefined ? undefined : Number(process.env[PORT_VARIABLE])
}
