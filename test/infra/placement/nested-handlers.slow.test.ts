import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { CfnOutput, CfnParameter, CfnWaitConditionHandle, Stack } from 'aws-cdk-lib'
import { Template } from 'aws-cdk-lib/assertions'
import { Alarm } from 'aws-cdk-lib/aws-cloudwatch'
import { Topic } from 'aws-cdk-lib/aws-sns'
import { describe, expect, it } from 'vitest'
import type { TaskSystemProps } from '../../../infra/index.ts'
import { anApp, aSystem, manyTasks, readTemplate, targetOf } from '../synthesised.ts'

const RESOURCES_MAX = 450
const TEMPLATE_BYTES_MAX = 1_000_000
const RESIZE = 'test/infra/fixtures/resize.ts'

/** An app whose record places the handler `Resize` in a nested stack, as if 30 others were there. */
const withNestedResize = () => anApp({ 'baton-tasks:places': { Tasks: { Resize: 'Handlers7' } } })

function aNestedHandler(props: TaskSystemProps = {}) {
  const { app, stack, tasks } = aSystem(props, 'Baton', withNestedResize())
  const handler = tasks.addHandler('Resize', { entry: RESIZE })
  return { app, stack, tasks, handler, nested: Stack.of(handler) }
}

/** The templates of a system with this many handlers, this many functions of 30 types and a dashboard. */
function templatesOf(handlers: number, groups: number, alarms: 'essential' | 'all') {
  const { app, tasks } = aSystem({ alarms })
  const { entry, types } = manyTasks(handlers)
  for (const task of types) tasks.addHandler(task, { entry, task })
  for (let nth = 1; nth <= groups; nth++) {
    tasks.addHandlers(`Group${nth}`, { entries: manyTasks(30, `group${nth}-task`).entry })
  }
  tasks.addDashboard()
  const { directory } = app.synth()
  const files = readdirSync(directory).filter(file => file.endsWith('.template.json'))
  return files.map(file => {
    const text = readFileSync(join(directory, file), 'utf8')
    const { Resources, Parameters = {}, Outputs = {} } = JSON.parse(text)
    const counts = { Resources, Parameters, Outputs }
    const [resources, parameters, outputs] = Object.values(counts).map(all => Object.keys(all).length)
    return { file, bytes: Buffer.byteLength(text), resources, parameters, outputs }
  })
}

describe('A system of many handlers', () => {
  it.each([
    ['90 handlers', 90, 0, 'essential'],
    ...(process.env.MEASURE ? [['300 handlers', 300, 0, 'essential'] as const] : []),
    ['28 handlers and all alarms', 28, 0, 'all'],
    ['40 handlers and 4 functions of 30 types', 40, 4, 'essential'],
  ] as const)('fits CloudFormation in every stack: %s', (_what, handlers, groups, alarms) => {
    const templates = templatesOf(handlers, groups, alarms)
    if (process.env.MEASURE) console.log('measured:', handlers, 'handlers:', templates)

    expect(templates.length).toBeGreaterThan(3)
    for (const { bytes, resources, parameters, outputs } of templates) {
      expect(resources).toBeLessThanOrEqual(RESOURCES_MAX)
      expect(bytes).toBeLessThanOrEqual(TEMPLATE_BYTES_MAX)
      expect(parameters).toBeLessThanOrEqual(200)
      expect(outputs).toBeLessThanOrEqual(200)
    }
  })
})

describe('A handler in a nested stack', () => {
  it('is there with all its resources, and the parent has the nested stack', () => {
    const { stack, nested } = aNestedHandler({ alarms: 'all' })

    const { resources } = readTemplate(nested)

    expect(resources.map(({ Type }) => Type).sort()).toEqual([
      'AWS::CloudWatch::Alarm',
      'AWS::CloudWatch::Alarm',
      'AWS::IAM::Policy',
      'AWS::IAM::Role',
      'AWS::Lambda::EventSourceMapping',
      'AWS::Lambda::Function',
      'AWS::Logs::LogGroup',
      'AWS::SQS::Queue',
      'AWS::SQS::QueuePolicy',
      'Custom::BatonType',
    ])
    expect(readTemplate(stack).ofType('AWS::CloudFormation::Stack')).toHaveLength(1)
    expect(readTemplate(stack).resources.filter(({ id }) => id.includes('Resize'))).toEqual([])
  })

  it('keeps the name of its queue, and is registered after its mapping', () => {
    const { ofType } = readTemplate(aNestedHandler().nested)

    expect(ofType('AWS::SQS::Queue').map(({ Properties }) => Properties.QueueName)).toContain(
      'Baton-q-resize',
    )
    expect(ofType('Custom::BatonType')[0]!.DependsOn).toEqual([expect.stringMatching(/^ResizeTasksMapping/)])
  })

  it('raises its alarms on the topic of the system', () => {
    const app = withNestedResize()
    const topic = new Topic(new Stack(app, 'Mine'), 'Topic')
    const { tasks } = aSystem({ alarmTopic: topic, alarms: 'all' }, 'Baton', app)
    const handler = tasks.addHandler('Resize', { entry: RESIZE })

    const [alarm] = readTemplate(Stack.of(handler)).ofType('AWS::CloudWatch::Alarm')

    expect(alarm!.Properties.AlarmActions).toHaveLength(1)
  })

  it('takes grants of the system, and grants the use of its queue', () => {
    const { stack, tasks, handler, nested } = aNestedHandler()
    const other = tasks.addHandler('Second', { entry: 'test/infra/fixtures/two-tasks.ts', task: 'second' })
    tasks.grantPublish(handler.function)
    handler.queue.grantSendMessages(other.function)

    const [fn] = readTemplate(nested).ofType('AWS::Lambda::Function')
    const policy = JSON.stringify(
      readTemplate(stack)
        .ofType('AWS::IAM::Policy')
        .find(({ id }) => id.includes('Second')),
    )

    expect(Object.keys(fn!.Properties.Environment.Variables)).toContain('BATON_URL')
    expect(policy).toMatch(/TasksNestedHandlers7NestedStack\w*","Outputs\.\w*Resize/)
  })

  it('is watched from the stack of the system', () => {
    const { stack, tasks, handler } = aNestedHandler()
    new Alarm(stack, 'Backlog', { metric: handler.metricBacklog(), threshold: 1, evaluationPeriods: 1 })
    tasks.addDashboard()

    const { ofType } = readTemplate(stack)
    const [backlog] = ofType('AWS::CloudWatch::Alarm').filter(({ id }) => id.startsWith('Backlog'))
    const [dashboard] = ofType('AWS::CloudWatch::Dashboard')

    expect(targetOf(backlog!.Properties.Dimensions[0].Value)).toMatch(/^TasksNestedHandlers7/)
    expect(JSON.stringify(dashboard!.Properties.DashboardBody)).toContain('Nested/Handlers7/Resize')
  })

  it('is registered before every flow', () => {
    const { stack, tasks } = aNestedHandler()
    tasks.addFlow('Order', { entry: 'test/infra/fixtures/order.ts' })
    tasks.addHandler('Second', { entry: 'test/infra/fixtures/two-tasks.ts', task: 'second' })

    const flow = readTemplate(stack)
      .ofType('Custom::BatonType')
      .find(({ id }) => id.includes('Order'))

    expect(flow!.DependsOn).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^TasksNestedHandlers7/),
        expect.stringContaining('Second'),
      ]),
    )
  })

  it('is the only one of its type and of its id', () => {
    const { tasks } = aNestedHandler()

    expect(() => tasks.addHandler('Again', { entry: RESIZE })).toThrow(
      "'Resize' already serves the type 'resize'",
    )
    expect(() =>
      tasks.addHandler('Resize', { entry: 'test/infra/fixtures/two-tasks.ts', task: 'second' }),
    ).toThrow("There is already a Construct with name 'Resize'")
  })

  it('is refused in a stack with too many resources, parameters and outputs, by the name of the stack', () => {
    const { stack, nested } = aNestedHandler()
    for (let nth = 0; nth <= 500; nth++) new CfnWaitConditionHandle(nested, `Resource${nth}`)
    for (let nth = 0; nth <= 200; nth++) new CfnParameter(nested, `Parameter${nth}`)
    for (let nth = 0; nth <= 200; nth++) new CfnOutput(nested, `Output${nth}`, { value: 'x' })

    const refusal = (what: string, most: number) =>
      `nested stack Handlers7 of Baton/Tasks has \\d+ ${what}, and CloudFormation allows ${most}\\. `

    expect(() => Template.fromStack(stack)).toThrow(
      new RegExp(
        [refusal('resources', 500), refusal('parameters', 200), refusal('outputs', 200)].join('[^]*'),
      ),
    )
  })
})

it('A stack with all alarms that is too large gets the advice to have fewer', () => {
  const { stack } = aSystem({ alarms: 'all' })
  for (let nth = 0; nth < 500; nth++) new CfnWaitConditionHandle(stack, `Filler${nth}`)

  expect(() => Template.fromStack(stack)).toThrow("set alarms to 'essential', which saves two a handler")
})
