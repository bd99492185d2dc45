import { GatewayVpcEndpointAwsService, type IVpc, SubnetType, Vpc } from 'aws-cdk-lib/aws-ec2'
import { Cluster, ContainerInsights, type ICluster } from 'aws-cdk-lib/aws-ecs'
import type { Construct } from 'constructs'

export type Placement = {
  /** Where the containers run; its Container Insights must be on, since scaling counts running tasks by them. */
  readonly cluster?: ICluster | Cluster
  /** The network, where no cluster is given. @default one for all worker services of the system, with public subnets */
  readonly vpc?: IVpc | Vpc
  /**
   * `private` needs a NAT gateway or endpoints for SQS, ECR and CloudWatch Logs; `public` gives each container an
   * address of its own, and nobody can connect to either.
   * @default 'private' where the network has private subnets, else 'public'
   */
  readonly subnets?: 'private' | 'public'
}

const SHARED_ID = 'WorkerCluster'

/** The given cluster, one in the given network, or the one that all services beside `scope` share. */
export function clusterFor(scope: Construct, siblings: Construct, { cluster, vpc }: Placement): ICluster {
  if (cluster) return cluster as ICluster
  if (vpc) return clusterIn(scope, 'Cluster', vpc as IVpc)
  const shared = siblings.node.tryFindChild(SHARED_ID)
  return shared ? (shared as unknown as ICluster) : clusterIn(siblings, SHARED_ID, networkFor(siblings))
}

export function isPublic({ vpc }: ICluster, { subnets }: Placement): boolean {
  return subnets === undefined ? vpc.privateSubnets.length === 0 : subnets === 'public'
}

/** CDK's classes do not fit its own interfaces under `exactOptionalPropertyTypes`, hence the assertions here. */
function clusterIn(scope: Construct, id: string, vpc: IVpc): ICluster {
  return new Cluster(scope, id, { vpc, containerInsightsV2: ContainerInsights.ENABLED }) as ICluster
}

/** Costs nothing by itself: no NAT gateway, and the table's traffic goes by a gateway endpoint. */
function networkFor(scope: Construct): IVpc {
  return new Vpc(scope, 'WorkerNetwork', {
    natGateways: 0,
    subnetConfiguration: [{ name: 'Public', subnetType: SubnetType.PUBLIC }],
    gatewayEndpoints: { Table: { service: GatewayVpcEndpointAwsService.DYNAMODB } },
    // Restricting the default group takes a function that may change every group; no container is in that group.
    restrictDefaultSecurityGroup: false,
  }) as IVpc
}
