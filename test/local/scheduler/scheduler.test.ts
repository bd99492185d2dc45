import {
  ConflictException,
  CreateScheduleCommand,
  type CreateScheduleCommandInput,
  CreateScheduleGroupCommand,
  DeleteScheduleCommand,
  GetScheduleCommand,
  ListSchedulesCommand,
  ResourceNotFoundException,
  SchedulerClient,
  UpdateScheduleCommand,
  ValidationException,
} from '@aws-sdk/client-scheduler'
import { ReceiveMessageCommand, SQSClient } from '@aws-sdk/client-sqs'
import { Duration } from 'aws-cdk-lib'
import { PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam'
import { CfnSchedule, CfnScheduleGroup } from 'aws-cdk-lib/aws-scheduler'
import { Queue } from 'aws-cdk-lib/aws-sqs'
import { expect, it } from 'vitest'
import { aTinyCloud, clientOf, eventually, fixtureFunction, linesOf } from '../tiny-cloud.ts'

const cloud = aTinyCloud(stack => {
  new Queue(stack, 'Wake')
  new Queue(stack, 'Dead')
  const sweeper = fixtureFunction(stack, 'Sweeper', 'writer', { timeout: Duration.seconds(5) })
  const role = new Role(stack, 'Role', { assumedBy: new ServicePrincipal('scheduler.amazonaws.com') })
  role.addToPolicy(
    new PolicyStatement({ actions: ['lambda:InvokeFunction'], resources: [sweeper.functionArn] }),
  )
  const group = new CfnScheduleGroup(stack, 'Group', { name: 'timers' })
  new CfnSchedule(stack, 'EveryMinute', {
    groupName: group.ref,
    scheduleExpression: 'rate(1 minute)',
    flexibleTimeWindow: { mode: 'OFF' },
    target: { arn: sweeper.functionArn, roleArn: role.roleArn, input: '{"sweep":true}' },
  })
})
const scheduler = clientOf(cloud, SchedulerClient)

const queueArn = (id: string) => cloud.resource('AWS::SQS::Queue', id).arn
const bodiesOf = (id: string) => cloud.inspectQueue(queueArn(id)).messages.map(({ body }) => body)

const expressionIn = (ms: number) => `at(${new Date(cloud.scheduler.now() + ms).toISOString().slice(0, 19)})`

const aSchedule = (
  Name: string,
  more: Partial<CreateScheduleCommandInput> = {},
): CreateScheduleCommandInput => ({
  Name,
  GroupName: 'timers',
  ScheduleExpression: expressionIn(3_600_000),
  FlexibleTimeWindow: { Mode: 'OFF' },
  ActionAfterCompletion: 'DELETE',
  Target: { Arn: queueArn('Wake'), RoleArn: 'arn:aws:iam::000000000000:role/x', Input: `{"from":"${Name}"}` },
  ...more,
})

const create = (...asked: Parameters<typeof aSchedule>) =>
  scheduler.send(new CreateScheduleCommand(aSchedule(...asked)))
const get = (Name: string) => scheduler.send(new GetScheduleCommand({ Name, GroupName: 'timers' }))

it('a one-time schedule fires to the second and is gone afterwards', async () => {
  const due = Math.ceil(Date.now() / 1000) * 1000 + 1000
  await create('soon', { ScheduleExpression: `at(${new Date(due).toISOString().slice(0, 19)})` })

  await eventually('the message', () => bodiesOf('Wake').includes('{"from":"soon"}'))
  expect(Date.now() - due).toBeGreaterThanOrEqual(0)
  await expect(get('soon')).rejects.toBeInstanceOf(ResourceNotFoundException)
})

it('tests can move the time of Scheduler', async () => {
  await create('tomorrow', { ScheduleExpression: expressionIn(86_400_000) })

  await cloud.scheduler.advance(86_400_000 - 3_600_000)
  expect(bodiesOf('Wake')).not.toContain('{"from":"tomorrow"}')
  await cloud.scheduler.advance(3_600_000)

  await eventually('the message', () => bodiesOf('Wake').includes('{"from":"tomorrow"}'))
})

it('errors have the names of the service', async () => {
  await create('twin')

  await expect(create('twin')).rejects.toBeInstanceOf(ConflictException)
  await expect(get('nobody')).rejects.toBeInstanceOf(ResourceNotFoundException)
  const orphan = create('orphan', { GroupName: 'nowhere' })
  await expect(orphan).rejects.toBeInstanceOf(ResourceNotFoundException)
  await expect(create('wrong', { ScheduleExpression: 'at(tomorrow)' })).rejects.toBeInstanceOf(
    ValidationException,
  )
  await expect(create('bad name')).rejects.toBeInstanceOf(ValidationException)
})

it('an update replaces all of a schedule, a delete removes it, and a list shows the remaining schedules', async () => {
  await create('changing', { Description: 'first' })

  await scheduler.send(
    new UpdateScheduleCommand(aSchedule('changing', { ScheduleExpression: 'rate(2 hours)' })),
  )

  const changed = await get('changing')
  expect(changed.ScheduleExpression).toBe('rate(2 hours)')
  expect(changed.Description).toBeUndefined()
  expect(changed.CreationDate).toBeInstanceOf(Date)
  await scheduler.send(new DeleteScheduleCommand({ Name: 'changing', GroupName: 'timers' }))
  const { Schedules } = await scheduler.send(
    new ListSchedulesCommand({ GroupName: 'timers', NamePrefix: 'chang' }),
  )
  expect(Schedules).toEqual([])
})

it("the template's schedule invokes its function at its rate, and at once by `fire`", async () => {
  const before = linesOf(cloud, 'Sweeper').length

  await cloud.scheduler.advance(60_000)
  await eventually('the first sweep', () => linesOf(cloud, 'Sweeper').length > before)
  await cloud.scheduler.fire('EveryMinute')

  await eventually('the second sweep', () => linesOf(cloud, 'Sweeper').length > before + 1)
  expect(linesOf(cloud, 'Sweeper').at(-1)).toEqual({ sweep: true })
})

it('an event for a target that cannot be reached is retried, and then sent to the dead-letter queue', async () => {
  const Target = {
    Arn: 'arn:aws:sqs:us-east-1:000000000000:nowhere',
    RoleArn: 'arn:aws:iam::000000000000:role/x',
    Input: '{"lost":true}',
    RetryPolicy: { MaximumRetryAttempts: 1 },
    DeadLetterConfig: { Arn: queueArn('Dead') },
  }
  await create('doomed', { ScheduleExpression: expressionIn(1_000), Target })
  const begun = Date.now()
  await cloud.scheduler.advance(2_000)

  await eventually('the dead letter', () => bodiesOf('Dead').includes('{"lost":true}'))
  expect(Date.now() - begun).toBeGreaterThan(900)
  const sqs = new SQSClient(cloud.clientOptions)
  const QueueUrl = cloud.resource('AWS::SQS::Queue', 'Dead').physicalId
  const receive = new ReceiveMessageCommand({
    QueueUrl,
    MessageAttributeNames: ['All'],
    VisibilityTimeout: 0,
  })
  const { Messages } = await sqs.send(receive)
  sqs.destroy()
  expect(Messages?.[0]?.MessageAttributes).toMatchObject({
    ERROR_CODE: { StringValue: expect.any(String) },
    ERROR_MESSAGE: { StringValue: expect.stringContaining('QueueDoesNotExist') },
    EXHAUSTED_RETRY_CONDITION: { StringValue: 'MaximumRetryAttempts' },
    RETRY_ATTEMPTS: { StringValue: '1' },
  })
})

it("a group can be created once, and its deletion deletes the group's schedules", async () => {
  const group = { Name: 'short' }
  await scheduler.send(new CreateScheduleGroupCommand(group))

  await expect(scheduler.send(new CreateScheduleGroupCommand(group))).rejects.toBeInstanceOf(
    ConflictException,
  )
})
