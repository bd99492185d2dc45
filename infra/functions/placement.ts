import type { Size } from 'aws-cdk-lib'
import type { ISecurityGroup, IVpc, SecurityGroup, SubnetSelection, Vpc } from 'aws-cdk-lib/aws-ec2'
import { PolicyStatement, type Role } from 'aws-cdk-lib/aws-iam'
import { Architecture, type ILayerVersion, type LayerVersion } from 'aws-cdk-lib/aws-lambda'
import { defined } from '../../shared/core/defined.ts'
import type { Cpu } from '../bundling/native.ts'

/** Where a function runs: its processor, its layers, its storage, its network. */
export type FunctionPlacement = {
  /** The size of the folder `/tmp`, 512–10,240 MB. @default 512 MB */
  readonly ephemeralStorageSize?: Size
  /** The processor. Native packages in `bundling.nodeModules` are copied in their build for it. @default Architecture.ARM_64 */
  readonly architecture?: Architecture
  /** At most five layers, for the function's architecture. @default none */
  readonly layers?: ReadonlyArray<ILayerVersion | LayerVersion>
  /**
   * The network that the function has access to. It needs a route to DynamoDB, SQS and CloudWatch Logs: a NAT gateway or endpoints.
   * @default none; the function reaches public addresses only
   */
  readonly vpc?: IVpc | Vpc
  /** @default the network's private subnets */
  readonly vpcSubnets?: SubnetSelection
  /** @default a new group that admits no connection */
  readonly securityGroups?: ReadonlyArray<ISecurityGroup | SecurityGroup>
  /** Whether public subnets are allowed. A function has no access to the internet from there. @default false */
  readonly allowPublicSubnet?: boolean
}

/** The processor of an architecture, as npm names it. */
export function cpuOf({ name }: Architecture = Architecture.ARM_64): Cpu {
  return name === Architecture.X86_64.name ? 'x64' : 'arm64'
}

/** The assertions are needed because CDK's classes do not satisfy its interfaces under `exactOptionalPropertyTypes`. */
export function placed({ architecture = Architecture.ARM_64, ...placement }: FunctionPlacement = {}) {
  const { ephemeralStorageSize, layers, vpc, vpcSubnets, securityGroups, allowPublicSubnet } = placement
  return {
    architecture,
    ...defined({ ephemeralStorageSize, vpc: vpc as IVpc | undefined, vpcSubnets, allowPublicSubnet }),
    ...(layers && { layers: layers as ILayerVersion[] }),
    ...(securityGroups && { securityGroups: securityGroups as ISecurityGroup[] }),
  }
}

/** Lambda connects a function to a network under the function's own role. IAM limits these actions to no resource. */
export function allowNetworkInterfaces(role: Role): void {
  const actions = [
    'AssignPrivateIpAddresses',
    'CreateNetworkInterface',
    'DeleteNetworkInterface',
    'DescribeNetworkInterfaces',
    'DescribeSubnets',
    'UnassignPrivateIpAddresses',
  ]
  role.addToPolicy(new PolicyStatement({ actions: actions.map(action => `ec2:${action}`), resources: ['*'] }))
}
