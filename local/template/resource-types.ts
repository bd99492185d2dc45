import { arnOf, nameOfArn, REGION, roleArnOf } from '../account.ts'

export type Described = {
  /** The value of `Ref`. */
  readonly physicalId: string
  readonly arn: string
  /** The values of `Fn::GetAtt`. */
  readonly attributes: Readonly<Record<string, unknown>>
}

/** The addresses of the cloud's parts. They are known before any resource is described. */
export type Surroundings = {
  readonly gatewayUrl: string
  readonly apiUrl: string
  /** The address of another HTTP API than the task system's, by its logical id. */
  ownApiUrl?(logicalId: string): string | undefined
  queueUrl(name: string): string
}

type Resource = {
  readonly logicalId: string
  readonly stackName: string
  read(property: string): unknown
  readonly surroundings: Surroundings
}

export type Emulation = {
  /** `provided`: the resource is emulated. `passive`: it has no effect here, for `reason`. `unsupported`: it is unknown. */
  readonly kind: 'provided' | 'passive' | 'unsupported'
  readonly reason?: string
  describe(resource: Resource): Described
}

/** What serves in place of resources that do not run here, by the beginnings of their types. */
const INSTEAD: Readonly<Record<string, string>> = {
  'AWS::ApiGateway::': 'use an HttpApi, which runs here',
  'AWS::Lambda::Url': 'use an HttpApi, which runs here',
  'AWS::ApiGatewayV2::': 'use an HttpApi with the stage $default, which runs here',
  'AWS::StepFunctions::': 'use a flow or a canvas',
  'AWS::Events::Rule': 'use a schedule of the task system, or publish the task by hand',
}

const ELSEWHERE = 'run a stand-in of your own, and give your client its endpoint'

export function insteadOf(type: string): string {
  return Object.entries(INSTEAD).find(([start]) => type.startsWith(start))?.[1] ?? ELSEWHERE
}

/** Returns how a resource type is emulated. A type that `table` does not list is `unsupported` and must be reported. */
export function emulationOf(type: string): Emulation {
  if (type.startsWith('Custom::')) return customResource
  return table[type] ?? unsupported
}

const NAME_CHARACTERS_MAX = 64
/** CDK's logical ids end with a hash of this many characters, which distinguishes long ids. */
const HASH_CHARACTERS = 8

function generated({ logicalId, stackName }: Resource): string {
  const name = `${stackName}-${logicalId}`
  if (name.length <= NAME_CHARACTERS_MAX) return name
  return name.slice(0, NAME_CHARACTERS_MAX - HASH_CHARACTERS) + name.slice(-HASH_CHARACTERS)
}

const named = (resource: Resource, property: string) => String(resource.read(property) ?? generated(resource))

/** An emulated resource. Its `Ref` is its name, and its ARN contains that name. */
function provided(nameProperty: string, arn: (name: string) => string): Emulation {
  return { kind: 'provided', describe: resource => nameAndArn(named(resource, nameProperty), arn) }
}

function passive(
  reason: string,
  nameProperty = 'Name',
  arn = (name: string) => arnOf('local', name),
): Emulation {
  return { kind: 'passive', reason, describe: resource => nameAndArn(named(resource, nameProperty), arn) }
}

function nameAndArn(name: string, arnFor: (name: string) => string): Described {
  const arn = arnFor(name)
  return { physicalId: name, arn, attributes: { Arn: arn, Name: name } }
}

const customResource: Emulation = {
  kind: 'provided',
  describe: resource => ({ physicalId: generated(resource), arn: '', attributes: {} }),
}

const unsupported: Emulation = {
  kind: 'unsupported',
  describe: resource => nameAndArn(generated(resource), name => arnOf('unsupported', name)),
}

const dynamoTable: Emulation = {
  kind: 'provided',
  describe: resource => {
    const name = named(resource, 'TableName')
    const arn = arnOf('dynamodb', `table/${name}`)
    return { physicalId: name, arn, attributes: { Arn: arn, TableId: name } }
  },
}

const queue: Emulation = {
  kind: 'provided',
  describe: resource => {
    const fifo =
      resource.read('FifoQueue') === true && resource.read('QueueName') === undefined ? '.fifo' : ''
    const name = named(resource, 'QueueName') + fifo
    const url = resource.surroundings.queueUrl(name)
    const arn = arnOf('sqs', name)
    return { physicalId: url, arn, attributes: { Arn: arn, QueueName: name, QueueUrl: url } }
  },
}

/** A version or an alias of a function: its ARN is the function's ARN with a qualifier, and both run the same code here. */
function qualified(qualifierOf: (resource: Resource) => string): Emulation {
  return {
    kind: 'passive',
    reason: 'a function has one version here',
    describe: resource => {
      const qualifier = qualifierOf(resource)
      const functionArn = arnOf('lambda', `function:${nameOfArn(String(resource.read('FunctionName')))}`)
      const arn = `${functionArn}:${qualifier}`
      const attributes = { AliasArn: arn, FunctionArn: arn, Version: qualifier }
      return { physicalId: arn, arn, attributes }
    },
  }
}

const schedule: Emulation = {
  kind: 'provided',
  describe: resource => {
    const group = String(resource.read('GroupName') ?? 'default')
    return nameAndArn(named(resource, 'Name'), name => arnOf('scheduler', `schedule/${group}/${name}`))
  },
}

const httpApi: Emulation = {
  kind: 'provided',
  describe: resource => {
    const id = resource.logicalId.toLowerCase().slice(-10)
    const arn = `arn:aws:apigateway:${REGION}::/apis/${id}`
    const { surroundings, logicalId } = resource
    const ApiEndpoint = surroundings.ownApiUrl?.(logicalId) ?? surroundings.apiUrl
    return { physicalId: id, arn, attributes: { ApiId: id, ApiEndpoint } }
  },
}

const secret: Emulation = {
  kind: 'provided',
  describe: resource => {
    const arn = arnOf('secretsmanager', `secret:${named(resource, 'Name')}`)
    return { physicalId: arn, arn, attributes: { Id: arn } }
  },
}

const topicLike: Emulation = {
  kind: 'passive',
  reason: 'a local machine sends no notifications',
  describe: resource => {
    const name = named(resource, 'TopicName')
    const arn = arnOf('sns', name)
    return { physicalId: arn, arn, attributes: { TopicArn: arn, TopicName: name } }
  },
}

const notEnforced = 'policies of resources are not enforced locally; policies of roles are'
const inItsRole = 'its statements are read with the role that it is attached to'
const noMetrics = 'no metrics service runs locally'
const noNetwork = 'containers run as processes of this machine, in its network'
const readWithParent = 'its settings are read with the resource that it belongs to'

const table: Record<string, Emulation> = {
  'AWS::DynamoDB::Table': dynamoTable,
  'AWS::DynamoDB::GlobalTable': dynamoTable,
  'AWS::SQS::Queue': queue,
  'AWS::Lambda::Function': provided('FunctionName', name => arnOf('lambda', `function:${name}`)),
  'AWS::Lambda::Version': qualified(() => '1'),
  'AWS::Lambda::Alias': qualified(resource => String(resource.read('Name'))),
  'AWS::Lambda::EventSourceMapping': provided('Id', name => arnOf('lambda', `event-source-mapping:${name}`)),
  'AWS::Lambda::EventInvokeConfig': provided('Id', name => arnOf('lambda', `event-invoke-config:${name}`)),
  'AWS::Scheduler::Schedule': schedule,
  'AWS::Scheduler::ScheduleGroup': provided('Name', name => arnOf('scheduler', `schedule-group/${name}`)),
  'AWS::Events::EventBus': provided('Name', name => arnOf('events', `event-bus/${name}`)),
  'AWS::ApiGatewayV2::Api': httpApi,
  'AWS::ApiGatewayV2::Route': provided('RouteId', name => arnOf('apigateway', name)),
  'AWS::ApiGatewayV2::Integration': provided('IntegrationId', name => arnOf('apigateway', name)),
  'AWS::SecretsManager::Secret': secret,
  'AWS::ECS::Service': provided('ServiceName', name => arnOf('ecs', `service/${name}`)),
  'AWS::ECS::TaskDefinition': provided('Family', name => arnOf('ecs', `task-definition/${name}`)),
  'AWS::CloudFormation::CustomResource': customResource,

  'AWS::ApiGatewayV2::Stage': passive(readWithParent, 'StageName'),
  'AWS::ApiGatewayV2::Authorizer': passive('requests from this machine are not authenticated'),
  'AWS::IAM::Role': provided('RoleName', roleArnOf),
  'AWS::IAM::Policy': passive(inItsRole, 'PolicyName'),
  'AWS::IAM::ManagedPolicy': passive(inItsRole, 'ManagedPolicyName'),
  'AWS::Lambda::Permission': passive(notEnforced),
  'AWS::SQS::QueuePolicy': passive(notEnforced),
  'AWS::S3::BucketPolicy': passive(notEnforced),
  'AWS::SNS::TopicPolicy': passive(notEnforced),
  'AWS::Logs::LogGroup': passive('logs go to the terminal', 'LogGroupName', name =>
    arnOf('logs', `log-group:${name}`),
  ),
  'AWS::Logs::MetricFilter': passive(noMetrics),
  'AWS::CloudWatch::Alarm': passive(noMetrics, 'AlarmName', name => arnOf('cloudwatch', `alarm:${name}`)),
  'AWS::CloudWatch::CompositeAlarm': passive(noMetrics, 'AlarmName', name =>
    arnOf('cloudwatch', `alarm:${name}`),
  ),
  'AWS::CloudWatch::Dashboard': passive(noMetrics, 'DashboardName'),
  'AWS::SNS::Topic': topicLike,
  'AWS::SNS::Subscription': topicLike,
  'AWS::KMS::Key': passive('data on this machine is not encrypted', 'KeyId', name =>
    arnOf('kms', `key/${name}`),
  ),
  'AWS::KMS::Alias': passive('data on this machine is not encrypted', 'AliasName'),
  'AWS::ECS::Cluster': passive(noNetwork, 'ClusterName', name => arnOf('ecs', `cluster/${name}`)),
  'AWS::ApplicationAutoScaling::ScalableTarget': passive('a service runs as one process here'),
  'AWS::ApplicationAutoScaling::ScalingPolicy': passive('a service runs as one process here', 'PolicyName'),
  'AWS::EC2::InternetGateway': passive(noNetwork),
  'AWS::EC2::Route': passive(noNetwork),
  'AWS::EC2::RouteTable': passive(noNetwork),
  'AWS::EC2::SecurityGroup': passive(noNetwork, 'GroupName'),
  'AWS::EC2::Subnet': passive(noNetwork),
  'AWS::EC2::SubnetRouteTableAssociation': passive(noNetwork),
  'AWS::EC2::VPC': passive(noNetwork),
  'AWS::EC2::VPCEndpoint': passive(noNetwork),
  'AWS::EC2::VPCGatewayAttachment': passive(noNetwork),
  'AWS::CDK::Metadata': passive('usage statistics of the CDK'),
}
