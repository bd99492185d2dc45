import { join } from 'node:path'
import { Duration, type Stack } from 'aws-cdk-lib'
import { Vpc } from 'aws-cdk-lib/aws-ec2'
import { Cluster, ContainerImage, FargateService, FargateTaskDefinition } from 'aws-cdk-lib/aws-ecs'
import { expect, it } from 'vitest'
import type { LocalCloud } from '../../../local/cloud.ts'
import { bootTinyCloud, eventually } from '../tiny-cloud.ts'

const image = join(import.meta.dirname, '../fixtures/container')

/** A service with its own network. Its container gets `greeting` as a variable. */
const aService =
  (greeting: string, container: ContainerImage = ContainerImage.fromAsset(image)) =>
  (stack: Stack) => {
    const taskDefinition = new FargateTaskDefinition(stack, 'Definition')
    taskDefinition.addContainer('worker', {
      image: container,
      environment: { GREETING: greeting },
      stopTimeout: Duration.seconds(2),
    })
    const vpc = new Vpc(stack, 'Network', { natGateways: 0, restrictDefaultSecurityGroup: false })
    const cluster = new Cluster(stack, 'Cluster', { vpc: vpc as never })
    new FargateService(stack, 'Service', { cluster: cluster as never, taskDefinition, assignPublicIp: true })
  }

const serviceOf = ({ services }: LocalCloud) => services[0]!
const linesOf = (cloud: LocalCloud) =>
  serviceOf(cloud).logs.flatMap(line => (line.startsWith('{') ? [JSON.parse(line)] : []))
const started = (cloud: LocalCloud) => linesOf(cloud).filter(({ said }) => said === 'started')

it('a service runs from its image folder, under its own access key, with the environment of its template', async () => {
  const cloud = await bootTinyCloud(aService('hello'))

  const [line] = await eventually('it starts', () => started(cloud).length > 0 && started(cloud))
  await cloud.stop()

  expect(line).toMatchObject({ greeting: 'hello', key: serviceOf(cloud).logicalId })
  expect(cloud.unsupported).toEqual([])
})

it('a service that ends unexpectedly is started again, and its log says so', async () => {
  const cloud = await bootTinyCloud(aService('hello'))
  await eventually('it starts', () => started(cloud).length === 1)
  const first = serviceOf(cloud).pid()!

  process.kill(first, 'SIGKILL')
  await eventually('it starts again', () => started(cloud).length === 2)
  const second = serviceOf(cloud).pid()
  await cloud.stop()

  expect(second).not.toBe(first)
  expect(serviceOf(cloud).logs).toContain('ended unexpectedly (SIGKILL) and is started again')
})

it('a service that is being stopped can still reach the cloud, and the cloud waits for it', async () => {
  const cloud = await bootTinyCloud(aService('hello'))
  await eventually('it starts', () => started(cloud).length === 1)

  await cloud.stop()

  expect(linesOf(cloud).at(-1)).toMatchObject({ said: 'the cloud still answers' })
})

it("a service that does not stop is killed after the template's stop timeout", async () => {
  const cloud = await bootTinyCloud(aService('deaf'))
  await eventually('it starts', () => started(cloud).length === 1)
  const pid = serviceOf(cloud).pid()!
  const begun = Date.now()

  await cloud.stop()

  expect(Date.now() - begun).toBeGreaterThanOrEqual(1_900)
  expect(() => process.kill(pid, 0)).toThrow()
})

it('a service with a foreign image is reported and left out', async () => {
  const lines: string[] = []

  const cloud = await bootTinyCloud(
    aService('hello', ContainerImage.fromRegistry('public.ecr.aws/nginx/nginx')),
    {
      log: ({ line }) => lines.push(line),
    },
  )
  await cloud.stop()

  expect(cloud.services).toEqual([])
  expect(lines.join()).toContain('public.ecr.aws/nginx/nginx is not built from this app')
})
