/**
 * Starts the local cloud: it reads the template that `infra/` synthesises and starts its resources. There is one folder for each
 * service of AWS. `custom-resources.ts` deploys custom resources, `closing.ts` ends the parts in order, and `account.ts` has the
 * account, the region and the ARNs.
 */

import { resolve } from 'node:path'
import { ACCOUNT_ID, nameOfArn, REGION } from './account.ts'
import { type Closing, createClosing } from './closing.ts'
import { deployCustomResources, type KeptResources } from './custom-resources.ts'
import { type DataFolder, newAccessKey, openDataFolder } from './data-folder/data-folder.ts'
import { openStateFile, type StateFile } from './data-folder/state-file.ts'
import { serveEvents } from './events/events.ts'
import { createFunctions, type Functions } from './functions/functions.ts'
import { createLambdaApi } from './functions/lambda-api.ts'
import { awsEnvironment } from './functions/spec.ts'
import { createFaults, type Faults } from './gateway/faults.ts'
import { type Gateway, startGateway } from './gateway/gateway.ts'
import { createMeter, type Meter } from './gateway/meter.ts'
import { startApiServer } from './http/http.ts'
import type { Mapping } from './mappings/mapping.ts'
import { type KeptCheckpoints, startMappings } from './mappings/mappings.ts'
import { createPermissions, type Denial, type Permissions } from './permissions/permissions.ts'
import { noSchedules } from './scheduler/schedule-store.ts'
import { type Scheduler, startScheduler } from './scheduler/scheduler.ts'
import { createSecrets } from './secrets/secrets.ts'
import { type LocalService, startServices } from './services/services.ts'
import type { DynamoDbLocal } from './stores/dynamodb-local.ts'
import { createQueues } from './stores/queues.ts'
import type { QueueContent } from './stores/sqs-server.ts'
import { startStores } from './stores/stores.ts'
import { createTables } from './stores/tables.ts'
import { emulationOf } from './template/resource-types.ts'
import { openStack, type Stack } from './template/stack.ts'
import { readAssembly } from './template/template.ts'

export type LocalCloudOptions = {
  /** The synthesised cloud assembly (`cdk.out`). */
  readonly assemblyDir: string
  readonly stackName: string
  /** Port of the HTTP API on 127.0.0.1; 0 for any free one. @default 7070 */
  readonly apiPort?: number
  /** Further host names under which the HTTP API is reached, e.g. from a container; with a port if it differs. */
  readonly allowedHosts?: readonly string[]
  /** The folder that keeps tables, queues, schedules, custom resources and the access key. Without it all is in memory. */
  readonly dataDir?: string
  /** How many processes a function may have. Its `ReservedConcurrentExecutions` may lower the number. @default 6 */
  readonly maxSandboxesPerFunction?: number
  /** Receives every line that functions, services and the cloud itself write. */
  readonly log?: (line: string) => void
  /** Whether container services run, each as one process. @default true */
  readonly services?: boolean
  /** The port of a DynamoDB Local that runs already. The tables are kept there, apart from those of other clouds. */
  readonly dynamoDbPort?: number
  /** Variables that every function and service gets. */
  readonly environment?: Readonly<Record<string, string>>
}

export type LocalResource = {
  readonly type: string
  /** What `Ref` gives: the URL of a queue, the name of a table or function. */
  readonly physicalId: string
  readonly arn: string
  readonly attributes: Readonly<Record<string, unknown>>
}

export type LocalCloud = {
  /** Base address of the HTTP API. */
  readonly apiUrl: string
  /** The address that serves DynamoDB, its streams, SQS, Scheduler, Lambda's Invoke and Secrets Manager. */
  readonly endpoint: string
  /** Options of an AWS SDK client; its calls are attributed to `tester`. */
  readonly clientOptions: {
    readonly endpoint: string
    readonly region: string
    readonly credentials: {
      readonly accessKeyId: string
      readonly secretAccessKey: string
      readonly sessionToken: string
    }
  }
  /** `clientOptions` as environment variables, for another process. */
  readonly environment: Readonly<Record<string, string>>
  /** The resources by logical id. */
  readonly resources: Readonly<Record<string, LocalResource>>
  /** The one resource of a type whose logical id contains the text. */
  resource(type: string, idPart?: string): LocalResource
  readonly outputs: Readonly<Record<string, unknown>>
  /** `logical id (type)` of the resources that are neither emulated nor known to be without effect here. */
  readonly unsupported: readonly string[]
  readonly functions: Functions
  /** The container services; each runs as one process. */
  readonly services: readonly LocalService[]
  readonly mappings: readonly Mapping[]
  /** The mapping of the named function. */
  mapping(functionName: string): Mapping
  /** The messages of a queue, given by its ARN or name. They are not received. */
  inspectQueue(queue: string): QueueContent
  readonly scheduler: Scheduler
  readonly meter: Meter
  readonly faults: Faults
  /** The last calls that the caller's role did not allow. A test removes those that it expects. */
  readonly denials: Denial[]
  /** Resolves after a store was lost and the cloud has ended. The value is the reason, in one line. */
  readonly broken: Promise<string>
  /** Ends all processes and servers. A second call waits for the same end. */
  stop(): Promise<void>
}

/**
 * Boots a stack of a synthesised template on this machine. When a part does not start or a custom resource fails, it ends
 * everything and rejects.
 */
export async function startLocalCloud(options: LocalCloudOptions): Promise<LocalCloud> {
  const closing = createClosing()
  try {
    return await boot(options, closing)
  } catch (cause) {
    await closing.run()
    throw cause
  }
}

async function boot(options: LocalCloudOptions, closing: Closing): Promise<LocalCloud> {
  const { log = () => {}, maxSandboxesPerFunction = 6 } = options
  const data = options.dataDir === undefined ? undefined : openDataFolder(options.dataDir)
  const accessKey = data?.accessKey ?? newAccessKey()
  const assembly = readAssembly(resolve(options.assemblyDir), options.stackName)
  const stateFiles = openStateFiles(data)
  closing.last(stateFiles.flush)

  const meter = createMeter()
  const faults = createFaults()
  const gateway = await startGateway(meter, faults, accessKey, log)
  closing.part(gateway.stop)
  const api = await startApiServer(options.apiPort ?? 7070, options.allowedHosts)
  closing.part(api.stop)

  const queueUrl = (name: string) => `${gateway.url}/${ACCOUNT_ID}/${name}`
  const stack = openStack(assembly, options.stackName, { gatewayUrl: gateway.url, apiUrl: api.url, queueUrl })
  const unsupported = reportUnsupported(stack, log)

  const permissions = protect(gateway, stack, log)
  const broken = Promise.withResolvers<string>()
  const onLost = (reason: string) => void closing.run().then(() => broken.resolve(reason))
  const stores = { ...options, accessKey, data, log, onLost }
  const { sqs, dynamo } = await startStores(stack, gateway, stores, closing)
  await createTables(stack, gateway)
  await createQueues(stack, gateway)

  const events = serveEvents(stack, gateway)
  const awsVariables = awsEnvironment(gateway.url, accessKey)
  const environment = { ...awsVariables, ...events?.environment, ...options.environment }
  const functions = createFunctions(stack, assembly, {
    maxSandboxes: maxSandboxesPerFunction,
    environment,
    meter,
    log,
  })
  closing.part(functions.stop)
  gateway.serve('lambda', createLambdaApi(functions))
  gateway.serve('secretsmanager', createSecrets(process.env))

  const scheduler = startScheduler(stack, {
    ...{ gateway, functions, meter, permissions, queueUrl, log },
    state: stateFiles.schedules,
  })
  closing.part(scheduler.stop)
  await deployCustomResources(stack, { gateway, functions, log, state: stateFiles.custom })

  const mappings = startMappings(stack, { gateway, sqs, functions, log, checkpoints: stateFiles.checkpoints })
  for (const mapping of mappings) closing.part(mapping.stop)
  scheduler.begin()
  const services = options.services === false ? [] : startServices(stack, assembly, { environment, log })
  for (const service of services) closing.first(service.stop)
  const partsDown = () => findPartsDown(dynamo, services)
  api.serve({ stack, functions, meter, permissions, partsDown, ...(events && { stream: events.stream }) })

  return {
    ...describeCloud(stack, gateway, api.url, accessKey),
    environment: { ...awsVariables, AWS_ACCESS_KEY_ID: TESTER },
    broken: broken.promise,
    unsupported,
    functions,
    services,
    mappings,
    mapping: name => findMapping(mappings, functions, name),
    inspectQueue: queue => sqs.inspect(nameOfArn(queue)),
    scheduler,
    meter,
    faults,
    denials: permissions.denials,
    stop: closing.run,
  }
}

/** The access key id that the gateway attributes the calls of tests and tools to. */
const TESTER = 'tester'

/** From now on the gateway refuses calls that the caller's role does not allow. */
function protect(gateway: Gateway, stack: Stack, log: (line: string) => void): Permissions {
  const permissions = createPermissions(stack, log)
  gateway.protect(permissions.refusalOf)
  return permissions
}

/** Finds the parts that do not run at the moment. `/healthz` reports them. */
async function findPartsDown(dynamo: DynamoDbLocal | undefined, services: readonly LocalService[]) {
  const down = services.filter(service => !service.isUp()).map(({ logicalId }) => logicalId)
  return dynamo && !(await dynamo.isUp()) ? ['DynamoDB Local', ...down] : down
}

function openStateFiles(data: DataFolder | undefined) {
  const file = (name: string) => data?.file(name)
  const checkpoints: StateFile<KeptCheckpoints> = openStateFile(file('checkpoints.json'), {})
  const schedules = openStateFile(file('schedules.json'), noSchedules)
  const custom: StateFile<KeptResources> = openStateFile(file('deployed.json'), {})
  const flush = () => {
    for (const state of [checkpoints, schedules, custom]) state.flush()
  }
  return { checkpoints, schedules, custom, flush }
}

function reportUnsupported(stack: Stack, log: (line: string) => void): string[] {
  const found = stack.ids(type => emulationOf(type).kind === 'unsupported')
  const unsupported = found.map(logicalId => `${logicalId} (${stack.resource(logicalId).Type})`)
  for (const resource of unsupported) log(`NOT SUPPORTED locally: ${resource}; it does nothing here`)
  return unsupported
}

function describeCloud(stack: Stack, gateway: Gateway, apiUrl: string, accessKey: string) {
  const resources = Object.fromEntries(
    stack
      .ids()
      .map(logicalId => [logicalId, { type: stack.resource(logicalId).Type, ...stack.describe(logicalId) }]),
  )
  return {
    apiUrl,
    endpoint: gateway.url,
    clientOptions: {
      endpoint: gateway.url,
      region: REGION,
      credentials: { accessKeyId: TESTER, secretAccessKey: 'local', sessionToken: accessKey },
    },
    resources,
    resource: (type: string, idPart = '') => findResource(resources, type, idPart),
    outputs: stack.outputs(),
  }
}

function findResource(resources: Record<string, LocalResource>, type: string, idPart: string): LocalResource {
  const ofType = Object.entries(resources).filter(([, resource]) => resource.type === type)
  const exact = ofType.find(([logicalId]) => logicalId === idPart)
  const [only, second] = exact ? [exact] : ofType.filter(([logicalId]) => logicalId.includes(idPart))
  if (only && !second) return only[1]
  const ids = ofType.map(([logicalId]) => logicalId).join(', ')
  const problem = second ? 'Several resources match' : 'No resource matches'
  throw new Error(`${problem} "${idPart}"; those of type ${type} are: ${ids}`)
}

function findMapping(mappings: readonly Mapping[], functions: Functions, name: string): Mapping {
  const { logicalId } = functions.find(name)
  const found = mappings.find(({ functionId }) => functionId === logicalId)
  if (found) return found
  throw new Error(`${logicalId} has no event source mapping`)
}
