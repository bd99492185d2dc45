import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { LOCAL_CREDENTIALS, REGION } from '../account.ts'
import type { TemplateResource } from '../template/intrinsics.ts'
import { type Assembly, isCustomResource, type Stack } from '../template/stack.ts'
import type { FunctionSpec } from './sandbox.ts'

/** Lambda's timeout when the template sets none. */
const DEFAULT_TIMEOUT_S = 3
const DEFAULT_MEMORY_MB = 128

/** Lambda retries an asynchronous invocation after one minute, then after two more. */
const ASYNC_RETRY_DELAYS_MS = [60_000, 120_000]

/** The folder of the compile cache. Its entries are named by paths of bundles, so it is next to the assembly. */
const COMPILE_CACHE = '.node-compile-cache'
const INLINE_CODE = '.inline-code'

/** A function as its stack describes it. */
export type Definition = Omit<FunctionSpec, 'inspectPort'> & {
  /** How many processes the function may have. */
  readonly maxProcesses: number
  readonly retryDelaysMs: readonly number[]
  readonly mayLoop: boolean
  /** Whether custom resources call it, so that it has nothing to do between deployments. */
  readonly servesDeployments: boolean
  /** What names the code. It changes when the code of the template changes. The metadata may say how the code is made. */
  readonly code: unknown
  readonly metadata: Readonly<Record<string, unknown>>
  /** Why the function cannot run here. */
  readonly unsupported?: string
}

type Setting = {
  readonly maxSandboxes: number
  /** The ARNs of the functions that custom resources call. */
  readonly serviceTokens: ReadonlySet<unknown>
  /** Variables of all functions. They override the template's own. */
  readonly environment: Readonly<Record<string, string>>
}

/**
 * Reads a function of a stack. The access key is the function's logical id, by which the gateway identifies the caller. A function
 * that cannot run here, e.g. of another runtime, says why. Throws when its code is missing.
 */
export function readFunction(
  stack: Stack,
  assembly: Assembly,
  logicalId: string,
  setting: Setting,
): Definition {
  const resource = stack.resource(logicalId)
  const { physicalId: name, arn } = stack.describe(logicalId)
  const unsupported = foreignRuntime(stack, logicalId)
  return {
    logicalId,
    name,
    arn,
    codeDir: unsupported === undefined ? codeDirOf(assembly, resource) : assembly.directory,
    compileCacheDir: join(assembly.directory, COMPILE_CACHE),
    handler: String(stack.read(logicalId, 'Handler') ?? 'index.handler'),
    timeoutMs: Number(stack.read(logicalId, 'Timeout') ?? DEFAULT_TIMEOUT_S) * 1000,
    memoryMb: Number(stack.read(logicalId, 'MemorySize') ?? DEFAULT_MEMORY_MB),
    maxProcesses: maxProcessesOf(stack, logicalId, setting.maxSandboxes),
    retryDelaysMs: ASYNC_RETRY_DELAYS_MS.slice(0, asyncRetriesOf(stack, name)),
    mayLoop: stack.read(logicalId, 'RecursiveLoop') === 'Allow',
    servesDeployments: setting.serviceTokens.has(arn),
    code: [resource.Properties?.Code, resource.Metadata],
    metadata: resource.Metadata ?? {},
    ...environmentOf(stack, logicalId, setting, unsupported),
  }
}

/** Reads the ARNs of the functions that the custom resources of a stack call. */
export function readServiceTokens(stack: Stack): ReadonlySet<unknown> {
  return new Set(stack.ids(isCustomResource).map(id => stack.read(id, 'ServiceToken')))
}

/** Whether processes of one definition may continue to serve the other. The same code may be in another assembly. */
export function isSameFunction(one: Definition, other: Definition): boolean {
  return isDeepStrictEqual(comparable(one), comparable(other))
}

function comparable({
  codeDir: _codeDir,
  compileCacheDir: _cache,
  metadata: _metadata,
  ...rest
}: Definition) {
  return rest
}

/** A value that does not exist locally, such as one that another stack exports, stops this function only. */
function environmentOf(stack: Stack, logicalId: string, setting: Setting, unsupported: string | undefined) {
  if (unsupported !== undefined) return { environment: {}, unsupported }
  try {
    const { Variables = {} } = (stack.read(logicalId, 'Environment') ?? {}) as {
      Variables?: Record<string, unknown>
    }
    const own = Object.entries(Variables).map(([name, value]) => [name, String(value)] as const)
    const environment = { ...Object.fromEntries(own), ...setting.environment, AWS_ACCESS_KEY_ID: logicalId }
    return { environment }
  } catch (cause) {
    return { environment: {}, unsupported: (cause as Error).message }
  }
}

/** Why the function's runtime is missing here; undefined for Node. */
function foreignRuntime(stack: Stack, logicalId: string): string | undefined {
  if (stack.read(logicalId, 'PackageType') === 'Image') return 'its code is a container image'
  const runtime = String(stack.read(logicalId, 'Runtime') ?? 'nodejs')
  return runtime.startsWith('nodejs') ? undefined : `its runtime is ${runtime}; only Node runs here`
}

function codeDirOf(assembly: Assembly, resource: TemplateResource): string {
  const { ZipFile } = (resource.Properties?.Code ?? {}) as { ZipFile?: unknown }
  endPackageScope(assembly.directory)
  return typeof ZipFile === 'string' ? inlineCodeDir(assembly, ZipFile) : assembly.codeDirOf(resource)
}

/** Writes inline code to the file that Lambda would make of it. */
function inlineCodeDir({ directory }: Assembly, code: string): string {
  const folder = join(directory, INLINE_CODE, createHash('sha256').update(code).digest('hex').slice(0, 16))
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'index.js'), code)
  return folder
}

/** On Lambda no package is above the code. Here the project's `"type": "module"` would change the meaning of its `.js` files. */
function endPackageScope(assemblyDir: string): void {
  const file = join(assemblyDir, 'package.json')
  if (!existsSync(file)) writeFileSync(file, '{}\n')
}

/** How many processes a function may have: `wanted`, or its reserved concurrency if that is less, but at least one. */
function maxProcessesOf(stack: Stack, logicalId: string, wanted: number): number {
  const reserved = stack.read(logicalId, 'ReservedConcurrentExecutions') as number | undefined
  return Math.max(1, Math.min(wanted, reserved ?? wanted))
}

function asyncRetriesOf(stack: Stack, functionName: string): number | undefined {
  const config = stack
    .ids('AWS::Lambda::EventInvokeConfig')
    .find(id => stack.read(id, 'FunctionName') === functionName)
  return config === undefined ? undefined : (stack.read(config, 'MaximumRetryAttempts') as number | undefined)
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
    AWS_SECRET_ACCESS_KEY: LOCAL_CREDENTIALS.secretAccessKey,
    AWS_SESSION_TOKEN: accessKey,
    AWS_EC2_METADATA_DISABLED: 'true',
    // The gateway refuses a call to a service that is not emulated, so the call never reaches the real service.
    AWS_ENDPOINT_URL: gatewayUrl,
    ...Object.fromEntries(services.map(service => [`AWS_ENDPOINT_URL_${service}`, gatewayUrl])),
  }
}
