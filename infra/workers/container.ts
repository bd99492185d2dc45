import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { Duration, Stack } from 'aws-cdk-lib'
import { GatewayVpcEndpointAwsService, type IVpc, SubnetType, Vpc } from 'aws-cdk-lib/aws-ec2'
import { Platform } from 'aws-cdk-lib/aws-ecr-assets'
import type { HealthCheck, ICluster } from 'aws-cdk-lib/aws-ecs'
import { Cluster, ContainerImage, ContainerInsights } from 'aws-cdk-lib/aws-ecs'
import type { Construct } from 'constructs'
import { type BatonError, illegal } from '../../shared/core/values/values.ts'
import type { UserCode } from '../bundling/bundling.ts'
import { isDevelopment, withoutModules, workerContents, writeContents } from '../bundling/bundling.ts'
import { generatedFile, writeGenerated } from '../bundling/places.ts'

/** The main file of a worker in its image. */
const MAIN = 'index.mjs'

/** The image installs nothing: what the bundle needs is next to it. Because there is no RUN command, any machine can build it. */
const DOCKERFILE = `FROM public.ecr.aws/docker/library/node:24-slim
WORKDIR /worker
COPY . ./
USER node
CMD ["node", "${MAIN}"]
`

const PLATFORMS = { arm64: Platform.LINUX_ARM64, x64: Platform.LINUX_AMD64 } as const

/**
 * Makes the image of a worker: a Dockerfile, the bundle and its modules in one folder. Synthesis writes the folder, and the
 * deployment builds the image. `dockerfile` replaces the Dockerfile.
 *
 * @throws BatonError `invalid` when there is no such Dockerfile, or when it does not start the worker.
 */
export function workerImage(
  scope: Construct,
  code: UserCode,
  dockerfile: string | undefined,
): ContainerImage {
  const folder = generatedFile('images', code.name)
  const text = dockerfile === undefined ? DOCKERFILE : ownDockerfile(code.title, dockerfile)
  writeGenerated(join(folder, 'Dockerfile'), text)
  writeGenerated(join(folder, '.dockerignore'), 'Dockerfile\n.dockerignore\n')
  const makeContents = workerContents(code)
  if (Stack.of(scope).bundlingRequired) {
    // `baton dev` runs the container as a process of this machine, in a folder below the project.
    const contents = isDevelopment(scope) ? withoutModules(makeContents()) : makeContents()
    rmSync(join(folder, 'node_modules'), { recursive: true, force: true })
    writeContents(folder, contents)
  }
  return ContainerImage.fromAsset(folder, { platform: PLATFORMS[code.cpu] })
}

function ownDockerfile(title: string, dockerfile: string): string {
  const file = resolve(dockerfile)
  if (!existsSync(file)) throw wrong(title, `there is no file ${dockerfile} in ${process.cwd()}`)
  const text = readFileSync(file, 'utf8')
  if (text.includes(MAIN)) return text
  throw wrong(
    title,
    `${dockerfile} must copy the bundle and start it: COPY . ./ and CMD ["node", "${MAIN}"]; its folder holds the bundle and bundling.nodeModules`,
  )
}

function wrong(title: string, problem: string): BatonError {
  return illegal(`${title}: dockerfile: ${problem}`)
}

export const LIFE_FILE = '/tmp/baton-alive'
/** A container without a sign of life for this long is replaced. A worker touches its file every 10 s. */
const SIGN_OF_LIFE_AGE_S_MAX = 60
/** How often the health check of a container runs. Source: ECS, HealthCheck (5–300 s). */
const HEALTH_CHECK_S = 30
/** The longest time in which a starting container may fail its check. Source: ECS, HealthCheck. */
const HEALTH_CHECK_START_S = 300

/** A worker whose event loop hangs no longer touches its file. ECS then starts another container and stops this one. */
export const HEALTH_CHECK: HealthCheck = {
  command: ['CMD-SHELL', `[ $(($(date +%s) - $(stat -c %Y ${LIFE_FILE}))) -lt ${SIGN_OF_LIFE_AGE_S_MAX} ]`],
  interval: Duration.seconds(HEALTH_CHECK_S),
  startPeriod: Duration.seconds(HEALTH_CHECK_START_S),
}

export type Placement = {
  /** The cluster of the containers. Scaling counts running containers with its Container Insights, so they must be on. */
  readonly cluster?: ICluster | Cluster
  /** The network, if no cluster is given. @default one with public subnets for all worker services of the system */
  readonly vpc?: IVpc | Vpc
  /**
   * `private` needs a NAT gateway or endpoints for SQS, ECR and CloudWatch Logs. `public` gives each container its own public
   * address. The security group admits no connection in either case.
   * @default 'private' if the network has private subnets, else 'public'
   */
  readonly subnets?: 'private' | 'public'
}

const SHARED_ID = 'WorkerCluster'

/** Returns the given cluster, a new one in the given network, or the one that all sibling services share. */
export function clusterFor(scope: Construct, siblings: Construct, { cluster, vpc }: Placement): ICluster {
  if (cluster) return cluster as ICluster
  if (vpc) return clusterIn(scope, 'Cluster', vpc as IVpc)
  const shared = siblings.node.tryFindChild(SHARED_ID)
  return shared ? (shared as unknown as ICluster) : clusterIn(siblings, SHARED_ID, networkFor(siblings))
}

export function isPublic({ vpc }: ICluster, { subnets }: Placement): boolean {
  return subnets === undefined ? vpc.privateSubnets.length === 0 : subnets === 'public'
}

/** The assertion is needed because CDK's classes do not satisfy its interfaces under `exactOptionalPropertyTypes`. */
function clusterIn(scope: Construct, id: string, vpc: IVpc): ICluster {
  return new Cluster(scope, id, { vpc, containerInsightsV2: ContainerInsights.ENABLED }) as ICluster
}

/** A network without running costs: it has no NAT gateway, and the table's traffic uses a gateway endpoint. */
function networkFor(scope: Construct): IVpc {
  return new Vpc(scope, 'WorkerNetwork', {
    natGateways: 0,
    subnetConfiguration: [{ name: 'Public', subnetType: SubnetType.PUBLIC }],
    gatewayEndpoints: { Table: { service: GatewayVpcEndpointAwsService.DYNAMODB } },
    // To restrict the default security group, CDK deploys a function that may change every group. No container is in that group.
    restrictDefaultSecurityGroup: false,
  }) as IVpc
}
