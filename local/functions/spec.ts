import { join } from 'node:path'
import { REGION } from '../account.ts'
import type { Stack } from '../template/stack.ts'
import type { Assembly } from '../template/template.ts'
import type { FunctionSpec } from './sandbox.ts'

/** Lambda's defaults where a template is silent. */
const DEFAULT_TIMEOUT_S = 3
const DEFAULT_MEMORY_MB = 128

/** Its entries are named by the paths of what they hold, so it goes with the assembly. */
const COMPILE_CACHE = '.node-compile-cache'

export const timeoutMsOf = (stack: Stack, logicalId: string) =>
  Number(stack.read(logicalId, 'Timeout') ?? DEFAULT_TIMEOUT_S) * 1000

export const memoryMbOf = (stack: Stack, logicalId: string) =>
  Number(stack.read(logicalId, 'MemorySize') ?? DEFAULT_MEMORY_MB)

/** How many processes a function may have: what its reserved concurrency allows of `most`, at least one. */
export function maxSandboxesOf(stack: Stack, logicalId: string, most: number) {
  const reserved = stack.read(logicalId, 'ReservedConcurrentExecutions') as number | undefined
  return Math.max(1, Math.min(most, reserved ?? most))
}

/**
 * What a process of the function is started with. `shared` comes after the template's own variables, and the access
 * key is the logical id, by which the gateway knows who calls.
 */
export function functionSpecOf(
  stack: Stack,
  assembly: Assembly,
  logicalId: string,
  shared: Readonly<Record<string, string>>,
): FunctionSpec {
  const { physicalId, arn } = stack.describe(logicalId)
  const environment = stack.read(logicalId, 'Environment') as
    | { Variables?: Record<string, unknown> }
    | undefined
  const own = Object.entries(environment?.Variables ?? {}).map(
    ([name, value]) => [name, String(value)] as const,
  )
  return {
    logicalId,
    name: physicalId,
    arn,
    codeDir: assembly.codeDirOf(stack.resource(logicalId)),
    compileCacheDir: join(assembly.directory, COMPILE_CACHE),
    handler: String(stack.read(logicalId, 'Handler') ?? 'index.handler'),
    timeoutMs: timeoutMsOf(stack, logicalId),
    memoryMb: memoryMbOf(stack, logicalId),
    environment: { ...Object.fromEntries(own), ...shared, AWS_ACCESS_KEY_ID: logicalId },
  }
}

/** The environment that leads a process's SDK clients to the gateway, which answers those that have its key. */
export function awsEnvironment(gatewayUrl: string, accessKey: string): Record<string, string> {
  const services = [
    'DYNAMODB',
    'DYNAMODB_STREAMS',
    'SQS',
    'SCHEDULER',
    'SECRETS_MANAGER',
    'LAMBDA',
    'EVENTBRIDGE',
  ]
  return {
    AWS_REGION: REGION,
    AWS_DEFAULT_REGION: REGION,
    AWS_SECRET_ACCESS_KEY: 'local',
    AWS_SESSION_TOKEN: accessKey,
    AWS_EC2_METADATA_DISABLED: 'true',
    // A service without an emulation meets the gateway's refusal, never the real service.
    AWS_ENDPOINT_URL: gatewayUrl,
    ...Object.fromEntries(services.map(service => [`AWS_ENDPOINT_URL_${service}`, gatewayUrl])),
  }
}
