import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Vpc } from 'aws-cdk-lib/aws-ec2'
import { Cluster } from 'aws-cdk-lib/aws-ecs'
import { Architecture } from 'aws-cdk-lib/aws-lambda'
import { describe, expect, it } from 'vitest'
import type { WorkerServiceProps } from '../../../infra/workers/workers.ts'
import { queueNameOf } from '../../../shared/core/types/task-type.ts'
import { aSystem, type Resource, readTemplate, targetOf } from '../synthesised.ts'

const TWO_TASKS = 'test/infra/fixtures/two-tasks.ts'
const RESIZE = 'test/infra/fixtures/resize.ts'

/** A system with one service of two types. */
function withService(props: Partial<WorkerServiceProps> = {}) {
  const { stack, tasks } = aSystem()
  tasks.addWorkerService('Media', { entry: TWO_TASKS, ...props })
  return readTemplate(stack)
}

const { ofType, json } = withService()
const only = (type: string, of = ofType) => of(type).filter(({ id }) => id.includes('Media'))[0] as Resource
const containerOf = (definition: Resource) => definition.Properties.ContainerDefinitions[0]
const service = only('AWS::ECS::Service')
const definition = only('AWS::ECS::TaskDefinition')
const container = containerOf(definition)

/** Logical ids without their hashes. */
const dependenciesOf = (resource: Resource) =>
  (resource.DependsOn ?? []).map(id => id.replace(/[0-9A-F]{8}$/, ''))

describe('The first containers of a worker service', () => {
  it('wait for the route to the internet, and for the permissions of their roles', () => {
    const policies = ofType('AWS::IAM::Policy').map(({ id }) => id)
    const roles = ['TaskRoleArn', 'ExecutionRoleArn'].map(name => targetOf(definition.Properties[name]))
    const allowed = ofType('AWS::IAM::Policy').filter(({ Properties }) =>
      Properties.Roles.some((role: unknown) => roles.includes(targetOf(role))),
    )

    expect(dependenciesOf(service)).toEqual(
      expect.arrayContaining([
        'TasksHandlersWorkerNetworkPublicSubnet1DefaultRoute',
        'TasksHandlersWorkerNetworkPublicSubnet2DefaultRoute',
      ]),
    )
    expect(allowed).toHaveLength(2)
    expect(service.DependsOn).toEqual(expect.arrayContaining([...allowed.map(({ id }) => id), ...roles]))
    expect(policies).toEqual(expect.arrayContaining(allowed.map(({ id }) => id)))
  })

  it('wait for the NAT gateway’s route in private subnets', () => {
    const { stack, tasks } = aSystem()
    tasks.addWorkerService('Media', { entry: TWO_TASKS, vpc: new Vpc(stack, 'Net', { maxAzs: 1 }) })
    const [inPrivate] = readTemplate(stack).ofType('AWS::ECS::Service')

    expect(dependenciesOf(inPrivate!)).toContain('NetPrivateSubnet1DefaultRoute')
  })
})

describe('A worker service', () => {
  it('has a queue with a dead-letter queue for each type that its entry exports', () => {
    const queues = ofType('AWS::SQS::Queue').filter(({ Properties }) =>
      /first|second/.test(String(Properties.QueueName)),
    )

    expect(queues.map(({ Properties }) => Properties.QueueName)).toEqual([
      'Baton-q-first',
      queueNameOf('Baton', 'images.second'),
    ])
    for (const { Properties } of queues)
      expect(Properties.RedrivePolicy.maxReceiveCount).toBeGreaterThanOrEqual(5)
  })

  it('registers each of its types as served by workers, unlike the types of Lambda handlers', () => {
    const byWorkers = ofType('Custom::BatonType').filter(
      ({ Properties }) => Properties.servedBy === 'workers',
    )

    expect(byWorkers.map(({ Properties }) => Properties.type).sort()).toEqual(['first', 'images.second'])
  })

  it('runs on Fargate, on the processor and the Node version that functions run on', () => {
    expect(service.Properties.LaunchType).toBe('FARGATE')
    expect(definition.Properties).toMatchObject({ Cpu: '256', Memory: '512' })
    expect(definition.Properties.RuntimePlatform.CpuArchitecture).toBe('ARM64')
    const [dockerfile = ''] = globSync('.baton/images/BatonTasksHandlersMedia*/Dockerfile')
    expect(readFileSync(dockerfile, 'utf8')).toContain('node:24-slim')
  })

  it.each([
    [Architecture.ARM_64, 'ARM64', 'linux/arm64'],
    [Architecture.X86_64, 'X86_64', 'linux/amd64'],
  ])('runs on %o where the app asks for it, and has an image for it', (architecture, cpu, platform) => {
    const { app, stack, tasks } = aSystem()
    tasks.addWorkerService('Media', { entry: TWO_TASKS, architecture })
    const asked = only('AWS::ECS::TaskDefinition', readTemplate(stack).ofType)
    const { directory } = app.synth()
    const assets = JSON.parse(readFileSync(join(directory, 'Baton.assets.json'), 'utf8'))
    const [image] = Object.values(assets.dockerImages as Record<string, { source: { platform: string } }>)

    expect(asked.Properties.RuntimePlatform.CpuArchitecture).toBe(cpu)
    expect(image?.source.platform).toBe(platform)
  })

  it('has variables with the address of the system and its concurrency', () => {
    const names = container.Environment.map(({ Name }: { Name: string }) => Name)

    expect(names).toEqual(
      expect.arrayContaining(['BATON_SYSTEM', 'BATON_TABLE', 'BATON_WAKE_QUEUE_URL', 'BATON_CONCURRENCY']),
    )
  })

  it('keeps a metric of one of its types that the app asks for', () => {
    const { stack, tasks } = aSystem()
    tasks.addWorkerService('Media', { entry: TWO_TASKS })
    tasks.metricLateness('first')
    const asked = containerOf(only('AWS::ECS::TaskDefinition', readTemplate(stack).ofType))

    const valueIn = (of: typeof container) =>
      of.Environment.find(({ Name }: { Name: string }) => Name === 'BATON_TYPE_METRICS').Value

    expect([valueIn(asked), valueIn(container)]).toEqual(['Lateness:first', ''])
  })

  it('is not killed before its runs have drained', () => {
    const { Value } = container.Environment.find(({ Name }: { Name: string }) => Name === 'BATON_DRAIN_MS')

    expect(container.StopTimeout).toBeLessThanOrEqual(120)
    expect(container.StopTimeout * 1_000).toBeGreaterThan(Number(Value))
  })

  it('keeps its logs as long as functions do', () => {
    const group = json.Resources[targetOf(container.LogConfiguration.Options['awslogs-group'])!]

    expect(group?.Properties.RetentionInDays).toBe(30)
  })

  it('is rolled back when its containers do not stay up', () => {
    expect(service.Properties.DeploymentConfiguration).toEqual({
      DeploymentCircuitBreaker: { Enable: true, Rollback: true },
      MinimumHealthyPercent: 100,
      MaximumPercent: 200,
    })
  })

  it('raises an alarm when too few containers run, also when no container reports', () => {
    const alarm = ofType('AWS::CloudWatch::Alarm').find(({ id }) => id.includes('MediaTooFew'))

    expect(alarm?.Properties).toMatchObject({
      MetricName: 'RunningTaskCount',
      Threshold: 1,
      ComparisonOperator: 'LessThanThreshold',
      TreatMissingData: 'missing',
    })
  })
})

it('The code of a worker service may use the table as a worker that announces itself, and its own queues only', () => {
  const policy = ofType('AWS::IAM::Policy').find(({ id }) => id.includes('MediaDefinitionTaskRole'))
  const granted = policy?.Properties.PolicyDocument.Statement.map(
    ({ Action, Resource }: { Action: unknown; Resource: unknown }) => [
      [Action].flat(),
      [Resource].flat().map(resource => targetOf(resource)?.replace(/[0-9A-F]{8}$/, '')),
    ],
  )

  const queues = ['TasksHandlersMediaTypesfirstTasksQueue', 'TasksHandlersMediaTypessecondTasksQueue']
  const ofTable = ['BatchGetItem', 'DeleteItem', 'GetItem', 'PutItem', 'Query', 'UpdateItem']
  // biome-ignore lint/suspicious/noExplicitAny: a template is JSON of many shapes
  const actions = new Set(granted.flatMap(([names]: any) => names))
  expect([...actions].filter(name => String(name).startsWith('dynamodb:')).sort()).toEqual(
    ofTable.map(action => `dynamodb:${action}`),
  )
  // biome-ignore lint/suspicious/noExplicitAny: as above
  expect(granted.filter(([names]: any) => names.some((name: string) => name.startsWith('sqs:')))).toEqual([
    [['DeleteMessage', 'ReceiveMessage', 'SendMessage'].map(action => `sqs:${action}`), queues],
  ])
})

describe('The scaling of a worker service', () => {
  const scaling = (of = ofType) =>
    only('AWS::ApplicationAutoScaling::ScalingPolicy', of).Properties.TargetTrackingScalingPolicyConfiguration

  it('follows the messages that wait in all its queues, per running container', () => {
    const { Metrics } = scaling().CustomizedMetricSpecification
    const measured = Metrics.slice(0, -1).map(
      // biome-ignore lint/suspicious/noExplicitAny: a template is JSON of many shapes
      ({ Id, MetricStat }: any) => [Id, MetricStat.Metric.MetricName],
    )

    expect(measured).toEqual([
      ['waiting0', 'ApproximateNumberOfMessagesVisible'],
      ['waiting1', 'ApproximateNumberOfMessagesVisible'],
      ['running', 'RunningTaskCount'],
    ])
    expect(Metrics.at(-1)).toMatchObject({
      Expression: '(FILL(waiting0, 0) + FILL(waiting1, 0)) / IF(FILL(running, 0) > 0, running, 1)',
      ReturnData: true,
    })
    expect(json.Resources[service.Properties.Cluster.Ref]?.Properties.ClusterSettings).toEqual([
      { Name: 'containerInsights', Value: 'enabled' },
    ])
  })

  it('aims by default at as many waiting tasks as a container runs at a time', () => {
    expect(scaling().TargetValue).toBe(10)
    expect(scaling(withService({ concurrency: 4 }).ofType).TargetValue).toBe(4)
    expect(scaling(withService({ concurrency: 4, backlogPerTask: 1 }).ofType).TargetValue).toBe(1)
  })

  it('stays within the given range', () => {
    const target = (props: Partial<WorkerServiceProps>) =>
      only('AWS::ApplicationAutoScaling::ScalableTarget', withService(props).ofType).Properties

    expect(target({})).toMatchObject({ MinCapacity: 1, MaxCapacity: 10 })
    expect(target({ minTasks: 20 })).toMatchObject({ MinCapacity: 20, MaxCapacity: 20 })
    expect(target({ minTasks: 2, maxTasks: 3 })).toMatchObject({ MinCapacity: 2, MaxCapacity: 3 })
  })
})

describe('The network of a worker service', () => {
  const networkOf = (of: typeof ofType) =>
    only('AWS::ECS::Service', of).Properties.NetworkConfiguration.AwsvpcConfiguration

  it('is one for all services without a network of their own, and costs nothing while it idles', () => {
    const { stack, tasks } = aSystem()
    tasks.addWorkerService('Media', { entry: TWO_TASKS })
    tasks.addWorkerService('More', { entry: RESIZE })
    const shared = readTemplate(stack)

    expect(shared.ofType('AWS::ECS::Cluster')).toHaveLength(1)
    expect(shared.ofType('AWS::EC2::VPC')).toHaveLength(1)
    expect(shared.ofType('AWS::EC2::NatGateway')).toHaveLength(0)
    expect(networkOf(shared.ofType).AssignPublicIp).toBe('ENABLED')
  })

  it('admits no connection', () => {
    const groups = ofType('AWS::EC2::SecurityGroup')

    expect(groups).toHaveLength(1)
    expect(groups[0]?.Properties.SecurityGroupIngress).toBeUndefined()
    expect(ofType('AWS::EC2::SecurityGroupIngress')).toHaveLength(0)
  })

  it.each([
    ['private where the given network has private subnets', undefined, 'DISABLED'],
    ['public where the app asks for it', 'public', 'ENABLED'],
  ] as const)('is %s', (_name, subnets, address) => {
    const { stack, tasks } = aSystem()
    const vpc = new Vpc(stack, 'Mine', { natGateways: 1 })
    tasks.addWorkerService('Media', { entry: TWO_TASKS, vpc, ...(subnets && { subnets }) })

    expect(networkOf(readTemplate(stack).ofType).AssignPublicIp).toBe(address)
  })

  it('is that of the given cluster', () => {
    const { stack, tasks } = aSystem()
    const cluster = new Cluster(stack, 'Mine', { vpc: new Vpc(stack, 'Network') as never })
    tasks.addWorkerService('Media', { entry: TWO_TASKS, cluster })
    const template = readTemplate(stack)

    expect(template.ofType('AWS::ECS::Cluster')).toHaveLength(1)
    expect(targetOf(only('AWS::ECS::Service', template.ofType).Properties.Cluster)).toMatch(/^Mine/)
  })
})

describe('Synthesis refuses', () => {
  it.each<[string, Partial<WorkerServiceProps>, string]>([
    ['a longer drain than Fargate allows', { drainSeconds: 111 }, 'drainSeconds is 111'],
    [
      'a minimum of no containers, from which target tracking cannot scale',
      { minTasks: 0 },
      'minTasks must be a whole number from 1',
    ],
    ['a size that Fargate does not offer', { cpu: 300 }, 'cpu must be one of 256, 512, 1024'],
    [
      'a memory that Fargate does not offer with the CPU',
      { cpu: 1_024, memory: 512 },
      'memory must be 2048–8192 in steps of 1024 with cpu 1024, not 512',
    ],
    [
      'a processor that Fargate does not offer',
      { architecture: Architecture.custom('riscv') },
      "architecture must be Architecture.ARM_64 or Architecture.X86_64, not 'riscv'",
    ],
    ['a concurrency of 0', { concurrency: 0 }, 'concurrency must be a whole number from 1 to 1000, not 0'],
    ['a minimum above the maximum', { minTasks: 3, maxTasks: 2 }, 'minTasks 3 to maxTasks 2'],
    ['an environment variable with a reserved name', { environment: { BATON_TABLE: 'mine' } }, 'BATON_TABLE'],
    ['an entry that exports no task', { entry: 'test/infra/fixtures/no-task.ts' }, 'exports no task'],
    [
      'an entry that defines a type claimed over HTTP',
      { entry: 'test/infra/fixtures/pulled.ts' },
      "kind 'http'",
    ],
  ])('%s', (_name, props, message) => {
    expect(() => withService(props)).toThrow(message)
  })

  it('a handler, a queue or a service for a type that already has a server', () => {
    const { tasks } = aSystem()
    tasks.addWorkerService('Media', { entry: TWO_TASKS })

    expect(() => tasks.addHandler('First', { entry: TWO_TASKS, task: 'first' })).toThrow(
      "serves the type 'first'",
    )
    expect(() => tasks.addWorkerQueue('Again', { entry: TWO_TASKS, task: 'second' })).toThrow(
      "serves the type 'images.second'",
    )
  })
})

it('addWorkerQueue deploys a queue and a registration, and no compute', () => {
  const { stack, tasks } = aSystem()
  const worker = tasks.addWorkerQueue('Resize', { entry: RESIZE })
  const added = readTemplate(stack).resources.filter(({ id }) => id.startsWith('TasksHandlersResize'))

  expect(worker.type).toBe('resize')
  expect(added.map(({ Type }) => Type).sort()).toEqual([
    'AWS::SQS::Queue',
    'AWS::SQS::QueuePolicy',
    'Custom::BatonType',
  ])
})
