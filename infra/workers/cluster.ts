import { GatewayVpcEndpointAwsService, type IVpc, SubnetType, Vpc } from 'aws-cdk-lib/aws-ec2'
import { Cluster, ContainerInsights, type ICluster } from 'aws-cdk-lib/aws-ecs'
import type { Construct } from 'constructs'

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
