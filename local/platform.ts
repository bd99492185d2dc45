import { ACCOUNT_ID } from './account.ts'
import type { DataFolder, KeptResources, StateFile } from './data-folder.ts'
import { newAccessKey, openDataFolder, openStateFile } from './data-folder.ts'
import { serveEvents } from './events/events.ts'
import { createFunctions, createLambdaApi } from './functions/functions.ts'
import type { FunctionSetting } from './functions/local-function.ts'
import { awsEnvironment } from './functions/spec.ts'
import { type Backend, bodyOf, errorAnswer, jsonAnswer } from './gateway/call.ts'
import { createFaults } from './gateway/faults.ts'
import { startGateway } from './gateway/gateway.ts'
import { createMeter, type Meter } from './gateway/meter.ts'
import { startCosts } from './http/costs.ts'
import { startApiServer } from './http/http.ts'
import { createOwnApis } from './http/own-apis.ts'
import { cloudLog, type LogReceiver } from './log.ts'
import { createMappings, type KeptCheckpoints } from './mappings/mappings.ts'
import type { Denial } from './permissions/permissions.ts'
import { startScheduler } from './scheduler/scheduler.ts'
import { noSchedules } from './scheduler/schedules.ts'
import { createServices, type Services } from './services/services.ts'
import { type Stores, startStores } from './stores/stores.ts'

/** Does the work of a phase of a start or a deployment, and may show that it is under way. */
type During = <Result>(phase: string, work: () => Promise<Result>) => Promise<Result>

/** The parts of a local cloud that outlive deployments. A deployment replaces what they run. */
export type Platform = Awaited<ReturnType<typeof startPlatform>>

/** Starts the parts that need no template, on free ports of loopback. `closing` gets what ends them. */
export async function startPlatform(options: LocalCloudOptions, closing: Closing) {
  const receive = options.log ?? (() => {})
  const log = cloudLog(receive)
  const data = options.dataDir === undefined ? undefined : openDataFolder(options.dataDir)
  const accessKey = data?.accessKey ?? newAccessKey()
  const stateFiles = openStateFiles(data)
  closing.last(stateFiles.flush)

  const [meter, faults] = [createMeter(), createFaults()]
  const gateway = await startGateway(meter, faults, accessKey, log)
  closing.part(gateway.stop)
  const { api, ownApis } = await startApis({ options, meter, accessKey, log }, closing)
  const queueUrl = (name: string) => `${gateway.url}/${ACCOUNT_ID}/${name}`

  const broken = Promise.withResolvers<string>()
  const onLost = (reason: string) => void closing.run().then(() => broken.resolve(reason))
  const { during = (_phase, work) => work() } = options
  const stores = await during('starting the stores', () =>
    startStores(gateway, { ...options, accessKey, data, log, onLost }, closing.part),
  )

  const { maxSandboxesPerFunction: maxSandboxes = SANDBOXES_PER_FUNCTION_MAX } = options
  const functions = createFunctions({ ...options, maxSandboxes, meter, log: receive })
  closing.part(functions.stop)
  gateway.serve('lambda', createLambdaApi(functions))
  gateway.serve('secretsmanager', createSecrets(process.env))
  const { sqs } = stores
  const scheduler = startScheduler({ gateway, functions, meter, queueUrl, log, state: stateFiles.schedules })
  closing.part(scheduler.stop)
  const mappings = createMappings({ gateway, sqs, functions, log, checkpoints: stateFiles.checkpoints })
  closing.part(mappings.stop)
  const services = createServices(receive)
  closing.first(services.stop)

  return {
    stackName: options.stackName,
    dataDir: options.dataDir,
    runsServices: options.services !== false,
    accessKey,
    surroundings: { gatewayUrl: gateway.url, apiUrl: api.url, ownApiUrl: ownApis.urlOf, queueUrl },
    /** Variables that direct functions and services to this cloud. */
    environment: awsEnvironment(gateway.url, accessKey),
    /** The variables of the options. They come last. */
    ownEnvironment: options.environment ?? {},
    during,
    ...{ gateway, api, ownApis, stores, functions, mappings, services, scheduler, meter, faults, log },
    events: serveEvents(gateway),
    customResources: stateFiles.custom,
    /** The last calls that the caller's role did not allow. A test removes those that it expects. */
    denials: [] as Denial[],
    /** Resolves after a store was lost and the cloud has ended. The value is the reason, in one line. */
    broken: broken.promise,
    /** Finds the parts that do not run at the moment. `/healthz` reports them. */
    partsDown: () => findPartsDown(stores, services),
    isEnding: closing.hasBegun,
  }
}

type ApiParts = {
  readonly options: LocalCloudOptions
  readonly meter: Meter
  readonly accessKey: string
  readonly log: (line: string) => void
}

async function startApis({ options, meter, accessKey, log }: ApiParts, closing: Closing) {
  const isDemanded = options.auth === 'iam'
  // A system that demands signatures serves no costs: they would be its only answer without one.
  const costs = isDemanded ? undefined : startCosts(meter)
  if (costs) closing.part(costs.stop)
  const settings = {
    port: options.apiPort ?? DEFAULT_API_PORT,
    allowedHosts: options.allowedHosts,
    authentication: { isDemanded, sessionToken: accessKey },
    log,
  }
  const { dashboardDir } = options
  const api = await startApiServer({ ...settings, costs: costs?.serve, dashboardDir })
  closing.part(api.stop)
  const ownApis = createOwnApis({ ...settings, costs: undefined, dashboardDir: undefined })
  closing.part(ownApis.stop)
  return { api, ownApis }
}

const DEFAULT_API_PORT = 7070
const SANDBOXES_PER_FUNCTION_MAX = 6

async function findPartsDown(stores: Stores, services: Services): Promise<readonly string[]> {
  const dynamo = stores.dynamo()
  const down = services
    .all()
    .filter(service => !service.isUp())
    .map(({ logicalId }) => logicalId)
  return dynamo && !(await dynamo.isUp()) ? ['DynamoDB Local', ...down] : down
}

function openStateFiles(data: DataFolder | undefined) {
  const checkpoints: StateFile<KeptCheckpoints> = openStateFile(data?.file('checkpoints.json'), {})
  const schedules = openStateFile(data?.file('schedules.json'), noSchedules)
  const custom: StateFile<KeptResources> = openStateFile(data?.file('deployed.json'), {})
  const flush = () => {
    for (const state of [checkpoints, schedules, custom]) state.flush()
  }
  return { checkpoints, schedules, custom, flush }
}

/**
 * Answers Secrets Manager's GetSecretValue from environment variables. `BATON_SECRET_SHOP_WEBHOOK_KEY` is the value of the secret
 * `shop/webhook/key`.
 */
function createSecrets(environment: Readonly<Record<string, string | undefined>>): Backend {
  return async call => {
    if (call.operation !== 'GetSecretValue')
      return errorAnswer(400, 'InvalidRequestException', `${call.operation} is not supported locally`)
    const id = String(bodyOf(call).SecretId)
    const name = id.slice(id.lastIndexOf(':') + 1)
    const variable = `BATON_SECRET_${name.toUpperCase().replace(/[^A-Z0-9]/g, '_')}`
    const value = environment[variable]
    const problem = `No secret ${name}: set ${variable} to give it a value`
    if (value === undefined) return errorAnswer(400, 'ResourceNotFoundException', problem)
    return jsonAnswer(200, { ARN: id, Name: name, SecretString: value, VersionId: 'local' })
  }
}

export type LocalCloudOptions = Pick<FunctionSetting, 'code' | 'onRunsDied' | 'inspect'> & {
  /** The synthesised cloud assembly (`cdk.out`). */
  readonly assemblyDir: string
  readonly stackName: string
  /** Port of the HTTP API on 127.0.0.1; 0 for any free one. @default 7070 */
  readonly apiPort?: number
  /** Further host names under which the HTTP API is reached, e.g. from a container; with a port if it differs. */
  readonly allowedHosts?: readonly string[]
  /** The folder of the built dashboard, which the address of the HTTP API then serves at `/`. @default no dashboard */
  readonly dashboardDir?: string
  /** `iam`: the HTTP API demands signatures, as the deployed one does. A wrong signature is refused in any case. @default none demanded */
  readonly auth?: 'iam'
  /** The folder that keeps tables, queues, schedules, custom resources and the access key. Without it all is in memory. */
  readonly dataDir?: string
  /** How many processes a function may have. Its `ReservedConcurrentExecutions` may lower the number. @default 6 */
  readonly maxSandboxesPerFunction?: number
  /** Receives every line that functions, services and the cloud itself write. */
  readonly log?: LogReceiver
  /** Whether container services run, each as one process. @default true */
  readonly services?: boolean
  /** The port of a DynamoDB Local that runs already. The tables are kept there, apart from the tables of other clouds. */
  readonly dynamoDbPort?: number
  /** Wraps each phase of the start and of deployments. @default shows nothing */
  readonly during?: During
  /** Variables that every function and service gets. */
  readonly environment?: Readonly<Record<string, string>>
}

type Step = () => Promise<void> | void

type Closing = ReturnType<typeof createClosing>

/**
 * Ends the parts of the cloud when it stops, or when its boot fails half way. `first`, `part` and `last` only register an `end`. `run`
 * calls it.
 */
export function createClosing() {
  const firsts: Step[] = []
  const parts: Step[] = []
  const lasts: Step[] = []
  const all = (steps: Step[]) => Promise.allSettled(steps.splice(0).map(async step => step()))
  let closed: Promise<void> | undefined

  async function close() {
    await all(firsts)
    await all(parts)
    await all(lasts)
  }

  return {
    /** Registers an end that runs before all others, for a part that needs the others while it stops, such as the worker services. */
    first: (end: Step) => void firsts.push(end),
    /**
     * Registers an end that runs after the first ones, at the same time as the ends of all other parts: most parts wait for each other. A
     * part that starts while the others end would outlive them.
     */
    part: (end: Step) => void (closed ? end() : parts.push(end)),
    /** Registers an end that runs after the ends of all parts. State is written there, when no part changes it any more. */
    last: (end: Step) => void lasts.push(end),
    /** Calls all registered ends, once. A second call returns the promise of the first. */
    run: () => {
      closed ??= close()
      return closed
    },
    hasBegun: () => closed !== undefined,
  }
}
