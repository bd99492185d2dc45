import { join } from 'node:path'
import { REGION } from '../account.ts'
import type { Stack } from '../template/stack.ts'
import type { Assembly } from '../template/template.ts'
import type { FunctionSpec } from './sandbox.ts'

/** Lambda's timeout when the template sets none. */
const DEFAULT_TIMEOUT_S = 3
const DEFAULT_MEMORY_MB = 128

/** The folder of the compile cache. Its entries are named by paths of bundles, so it stands beside the assembly. */
const COMPILE_CACHE = '.node-compile-cache'

export const timeoutMsOf = (stack: Stack, logicalId: string) =>
  Number(stack.read(logicalId, 'Timeout') ?? DEFAULT_TIMEOUT_S) * 1000

export const memoryMbOf = (stack: Stack, logicalId: string) =>
  Number(stack.read(logicalId, 'MemorySize') ?? DEFAULT_MEMORY_MB)

/** How many processes a function may have: `wanted`, or its reserved concurrency if that is less, but at least one. */
export function maxSandboxesOf(stack: Stack, logicalId: string, wanted: number) {
  const reserved = stack.read(logicalId, 'ReservedConcurrentExecutions') as number | undefined
  return Math.max(1, Math.min(wanted, reserved ?? wanted))
}

/**
 * The environment and code of the function's processes. `shared` overrides the template's own variables. The access key is the
 * function's logical id, by which the gateway identifies the caller.
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

/** The environment that directs a process's SDK clients to the gateway. The gateway answers only requests with its key. */
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
    // The gateway refuses a call to a service that is not emulated, so the call never reaches the real service.
    AWS_ENDPOINT_URL: gatewayUrl,
    ...Object.fromEntries(services.map(service => [`AWS_ENDPOINT_URL_${service}`, gatewayUrl])),
  }
}
