/**
 * Workers in containers on Fargate: the service that runs them, its cluster with the image that is built from a task file (`container.ts`),
 * and how many containers run for a backlog (`scaling.ts`). `types/types.ts` creates the queues from which the workers receive.
 */

import { Duration, Names, Stack } from 'aws-cdk-lib'
import { SubnetType } from 'aws-cdk-lib/aws-ec2'
import * as ecs from 'aws-cdk-lib/aws-ecs'
import type { IRole, PolicyStatement } from 'aws-cdk-lib/aws-iam'
import { Architecture } from 'aws-cdk-lib/aws-lambda'
import { LogGroup } from 'aws-cdk-lib/aws-logs'
import type { Queue } from 'aws-cdk-lib/aws-sqs'
import { Construct } from 'constructs'
import { defined, illegal } from '../../shared/core/values/values.ts'
import { watchWorkers } from '../alarms.ts'
import type { UserCode } from '../bundling/bundling.ts'
import { cpuOf, environmentOf } from '../functions/functions.ts'
import { allow, type Grantee } from '../permissions/permissions.ts'
import { grantTableToWorker, type Serving, typesWithin } from '../permissions/table-access.ts'
import type { Parts } from '../queues.ts'
import { levelOf } from '../settings.ts'
import { type FoundDefinition, readDefinitions, readFlows } from '../types/definition.ts'
import type { FunctionProps } from '../types/function-rules.ts'
import { refuseReserved, refuseServiceProps, WORKER_VERSION } from '../types/refuse-props.ts'
import { FlowRegistration, type TypeRegistrar, WorkerQueue } from '../types/types.ts'
import { clusterFor, HEALTH_CHECK, isPublic, LIFE_FILE, type Placement, workerImage } from './container.ts'
import { scaleByBacklog } from './scaling.ts'

/** Fargate's smallest CPU. Source: Fargate task sizes. */
const WORKER_CPU_UNITS = 256
/** The smallest memory for that CPU. Source: Fargate task sizes. */
const WORKER_MEMORY_MB = 512
const WORKER_CONCURRENCY = 10
/** The default of `minTasks`, the fewest containers of a service. */
const SERVICE_CONTAINERS_MIN = 1
/** The default of `maxTasks`, the most containers of a service. */
const SERVICE_CONTAINERS_MAX = 10
/** The longest time between SIGTERM and SIGKILL. Source: ECS on Fargate, stopTimeout. */
const STOP_TIMEOUT_S_MAX = 120
/** After draining, a worker has this long to release its runs and to end. */
const WORKER_STOP_MARGIN_S = 10
const WORKER_DRAIN_S = STOP_TIMEOUT_S_MAX - WORKER_STOP_MARGIN_S

/** The options of the code, which are the same as for a handler. */
type CodeProps = Pick<
  FunctionProps,
  'bundling' | 'environment' | 'events' | 'expectedTasksPerSecond' | 'logLevel' | 'otherTypes' | 'version'
>

export type WorkerServiceProps = Placement &
  CodeProps & {
    /**
     * The file that exports the definitions of one or several tasks, relative to the working directory. The service also registers
     * the flows that the file exports. It serves their steps if the file exports the steps' tasks, too.
     */
    readonly entry: string
    /**
     * A Dockerfile of your own, for native tools, relative to the working directory. Its build context is a folder with the bundle
     * `index.mjs` and `bundling.nodeModules`: let it `COPY . ./` and start `node index.mjs` on Node 24.
     * @default one that starts the bundle on Node 24 and installs nothing
     */
    readonly dockerfile?: string
    /**
     * The processor, `Architecture.ARM_64` or `Architecture.X86_64`. Native packages in `bundling.nodeModules` are copied in their
     * build for it.
     * @default Architecture.ARM_64
     */
    readonly architecture?: Architecture
    /** CPU units of a container: 256, 512, 1,024, … 16,384; 1,024 are one vCPU. @default 256 */
    readonly cpu?: number
    /** Megabytes of a container; `cpu` decides which sizes are legal. @default 512 */
    readonly memory?: number
    /** Concurrent runs of one container, of all its types together. @default 10 */
    readonly concurrency?: number
    /** The fewest containers, 1 or more. @default 1 */
    readonly minTasks?: number
    /** The most containers. @default 10 */
    readonly maxTasks?: number
    /** Above this many waiting tasks per container, the service starts another container. @default `concurrency` */
    readonly backlogPerTask?: number
    /** Whether ECS replaces a container whose worker hangs. The image needs `sh`, `stat` and `date` for it. @default true */
    readonly healthCheck?: boolean
    /** The runs of a stopping container have this many seconds to finish, 0–110. Then they are released. @default 110 */
    readonly drainSeconds?: number
  }

/**
 * Serves one or many task types from containers on Fargate. The number of containers follows the waiting tasks. Runs may take
 * hours. A container that must stop claims nothing more, lets runs finish for `drainSeconds`, and releases the rest.
 */
export class WorkerService extends Construct {
  readonly queues: readonly WorkerQueue[]
  readonly flows: readonly FlowRegistration[]
  readonly service: ecs.FargateService
  /** The role of the containers. Grant it what the handlers need. */
  readonly taskRole: IRole

  constructor(scope: Construct, id: string, parts: Parts, registrar: TypeRegistrar, of: WorkerServiceProps) {
    super(scope, id)
    const props = withDefaults(of)
    refuseServiceProps(of.entry, props)
    const { entry, events, bundling, expectedTasksPerSecond } = props
    const shared = { entry, ...defined({ events, bundling }) }
    const definitions = readDefinitions(entry, bundling)
    const types = new Construct(this, 'Types')
    this.queues = definitions.map(
      ({ exportName }) =>
        new WorkerQueue(types, exportName, parts, registrar, {
          ...{ ...shared, task: exportName },
          ...defined({ expectedTasksPerSecond }),
        }),
    )
    const flows = new Construct(this, 'Flows')
    this.flows = readFlows(entry, bundling).map(
      ({ exportName }) =>
        new FlowRegistration(flows, exportName, parts, registrar, { ...shared, flow: exportName }),
    )
    const queues = this.queues.map(({ queue }) => queue)
    const code = workerCode(Names.uniqueId(this), definitions, props)
    const image = workerImage(this, code, props.dockerfile)
    const definition = this.defineContainer(image, parts, queues, props)
    this.taskRole = definition.taskRole
    this.service = this.runOn(clusterFor(this, scope, props), definition, props)
    scaleByBacklog(new Construct(this, 'Scaling'), this.service, queues, props)
    watchWorkers(this, parts.settings, this.service, props.minTasks)
  }

  private defineContainer(image: ecs.ContainerImage, parts: Parts, queues: readonly Queue[], props: Props) {
    const definition = new ecs.FargateTaskDefinition(this, 'Definition', {
      cpu: props.cpu,
      memoryLimitMiB: props.memory,
      runtimePlatform: {
        cpuArchitecture: PROCESSORS[cpuOf(props.architecture)],
        operatingSystemFamily: ecs.OperatingSystemFamily.LINUX,
      },
    })
    const logGroup = new LogGroup(this, 'Logs', {
      retention: parts.settings.logRetention,
      removalPolicy: parts.settings.logRemovalPolicy,
    })
    const container = definition.addContainer('worker', {
      image,
      logging: ecs.LogDrivers.awsLogs({ logGroup, streamPrefix: 'worker' }),
      stopTimeout: Duration.seconds(props.drainSeconds + WORKER_STOP_MARGIN_S),
      ...(props.healthCheck && { healthCheck: HEALTH_CHECK }),
      // As the first process of a container, Node would not reap the orphans of a handler's child processes.
      linuxParameters: new ecs.LinuxParameters(this, 'Linux', { initProcessEnabled: true }),
      environment: {
        ...environmentOf(parts.settings, levelOf(props.logLevel) ?? parts.settings.handlerLogLevel),
        // Unlike a function's, a variable of a container must have a value.
        BATON_TYPE_METRICS: parts.settings.typeMetrics.text(''),
        AWS_REGION: Stack.of(this).region,
        BATON_CONCURRENCY: String(props.concurrency),
        BATON_DRAIN_MS: String(props.drainSeconds * 1_000),
        ...(props.healthCheck && { BATON_LIFE_FILE: LIFE_FILE }),
        ...defined({ [WORKER_VERSION]: props.version }),
        ...props.environment,
      },
    })
    openSystemTo(granteeOf(definition, container), parts, queues, {
      types: this.queues.map(({ type }) => type),
      others: props.otherTypes ? typesWithin('otherTypes', props.otherTypes) : 'any',
      isRegistered: true,
    })
    return definition
  }

  private runOn(
    cluster: ecs.ICluster,
    taskDefinition: ecs.FargateTaskDefinition,
    props: Props,
  ): ecs.FargateService {
    const isPublicService = isPublic(cluster, props)
    const subnetType = isPublicService ? SubnetType.PUBLIC : SubnetType.PRIVATE_WITH_EGRESS
    const service = new ecs.FargateService(this, 'Service', {
      cluster,
      taskDefinition,
      assignPublicIp: isPublicService,
      vpcSubnets: { subnetType },
      // A version that does not stay up is rolled back. The old version serves until the new one runs.
      circuitBreaker: { rollback: true },
      minHealthyPercent: 100,
      maxHealthyPercent: 200,
    })
    // Without these dependencies the first containers could start before they have a route or may fetch their image.
    service.node.addDependency(
      cluster.vpc.selectSubnets({ subnetType }).internetConnectivityEstablished,
      taskDefinition.taskRole,
      taskDefinition.obtainExecutionRole(),
    )
    return service
  }
}

const PROCESSORS = { arm64: ecs.CpuArchitecture.ARM64, x64: ecs.CpuArchitecture.X86_64 } as const

function workerCode(
  name: string,
  [first, ...others]: readonly FoundDefinition[],
  { entry: title, architecture, bundling }: Props,
): UserCode {
  if (!first) throw illegal(`${title} exports no task; export what defineTask returns`)
  return { title, name, definitions: [first, ...others], cpu: cpuOf(architecture), bundling }
}

type Props = ReturnType<typeof withDefaults>

function withDefaults(given: WorkerServiceProps) {
  const { concurrency = WORKER_CONCURRENCY, minTasks = SERVICE_CONTAINERS_MIN } = given
  const { drainSeconds = WORKER_DRAIN_S } = given
  refuseReserved(given.environment)
  refuseDrain(drainSeconds)
  return {
    ...given,
    cpu: given.cpu ?? WORKER_CPU_UNITS,
    memory: given.memory ?? WORKER_MEMORY_MB,
    architecture: given.architecture ?? Architecture.ARM_64,
    concurrency,
    minTasks,
    maxTasks: given.maxTasks ?? Math.max(minTasks, SERVICE_CONTAINERS_MAX),
    backlogPerTask: given.backlogPerTask ?? concurrency,
    drainSeconds,
    healthCheck: given.healthCheck ?? true,
  }
}

/** Grants what a Lambda handler may do, and lets the workers receive messages, because they poll their queues themselves. */
function openSystemTo(grantee: Grantee, parts: Parts, queues: readonly Queue[], serving: Serving): void {
  const { table, messages } = parts
  grantTableToWorker(grantee, parts, serving)
  table.nameTo(grantee)
  messages.openTo(grantee, {})
  allow(grantee, {
    actions: ['sqs:ReceiveMessage', 'sqs:DeleteMessage', 'sqs:SendMessage'],
    resources: queues.map(({ queueArn }) => queueArn),
  })
}

function granteeOf(definition: ecs.FargateTaskDefinition, container: ecs.ContainerDefinition): Grantee {
  return {
    role: definition.taskRole,
    addToRolePolicy: (statement: PolicyStatement) => definition.addToTaskRolePolicy(statement),
    addEnvironment: (name, value) => container.addEnvironment(name, value),
  }
}

function refuseDrain(drainSeconds: number): void {
  if (drainSeconds >= 0 && drainSeconds <= WORKER_DRAIN_S) return
  throw illegal(
    `drainSeconds is ${drainSeconds}; give 0–${WORKER_DRAIN_S}, since Fargate kills a container after ${STOP_TIMEOUT_S_MAX} s`,
  )
}
