import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { App, Duration, Stack } from 'aws-cdk-lib'
import { Code, type FunctionProps, Function as LambdaFunction, Runtime } from 'aws-cdk-lib/aws-lambda'
import { afterAll, beforeAll } from 'vitest'
import { type LocalCloud, type LocalCloudOptions, startLocalCloud } from '../../local/cloud.ts'
import { aFolder } from '../support/a-folder.ts'
import { sharedDynamoDb } from '../support/dynamo/one-dynamodb.ts'
import { standIn } from '../support/stand-in.ts'

const fixtures = fileURLToPath(new URL('./fixtures', import.meta.url))

/** Synthesises a stack named `Tiny` and returns the folder of its assembly. */
export function synthesize(build: (stack: Stack) => void): string {
  const assemblyDir = aFolder()
  const context = { 'aws:cdk:enable-path-metadata': true }
  const app = new App({ outdir: assemblyDir, analyticsReporting: false, context })
  build(new Stack(app, 'Tiny'))
  app.synth()
  return assemblyDir
}

/** Synthesises a stack named `Tiny` and boots it. */
export async function bootTinyCloud(
  build: (stack: Stack) => void,
  options: Partial<LocalCloudOptions> = {},
): Promise<LocalCloud> {
  const assemblyDir = synthesize(build)
  const port = sharedDynamoDb()
  const shared = port === undefined ? {} : { dynamoDbPort: port }
  return startLocalCloud({ assemblyDir, stackName: 'Tiny', apiPort: 0, ...shared, ...options })
}

/** The same for the tests of a file: the cloud boots before them, and stops after them. */
export function aTinyCloud(...args: Parameters<typeof bootTinyCloud>): LocalCloud {
  let started: LocalCloud | undefined
  beforeAll(async () => {
    started = await bootTinyCloud(...args)
  })
  afterAll(() => started?.stop())
  return standIn('the cloud', () => started)
}

/** A client of the SDK for a cloud that boots later. */
export function clientOf<Client extends object>(
  cloud: LocalCloud,
  make: new (options: LocalCloud['clientOptions'] & { maxAttempts?: number }) => Client,
  more: { readonly maxAttempts?: number } = {},
): Client {
  let client: Client | undefined
  return standIn('the client', () => {
    client ??= new make({ ...cloud.clientOptions, ...more })
    return client
  })
}

/** A function whose code is `fixtures/<name>.mjs`. */
export const fixtureFunction = (stack: Stack, id: string, name: string, props: Partial<FunctionProps> = {}) =>
  new LambdaFunction(stack, id, {
    runtime: Runtime.NODEJS_24_X,
    handler: `${name}.handler`,
    code: Code.fromAsset(fixtures),
    timeout: Duration.seconds(5),
    ...props,
  })

/** The JSON lines that a function has written. */
export const linesOf = (cloud: LocalCloud, functionName: string) =>
  cloud.functions.find(functionName).logs.flatMap(line => {
    try {
      return [JSON.parse(line)]
    } catch {
      return []
    }
  })

type Truthy<T> = Exclude<T, false | 0 | '' | null | undefined>

/** Waits until `probe` returns something truthy, and fails with `what` after `ms`. */
export async function eventually<T>(
  what: string,
  probe: () => T | Promise<T>,
  ms = 120_000,
): Promise<Truthy<T>> {
  const deadline = Date.now() + ms
  while (Date.now() < deadline) {
    const found = await probe()
    if (found) return found as Truthy<T>
    await sleep(10)
  }
  throw new Error(`not within ${ms} ms: ${what}`)
}
