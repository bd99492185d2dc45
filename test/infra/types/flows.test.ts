import { describe, expect, test } from 'vitest'
import { aSystem, type Resource, readTemplate, targetOf } from '../synthesised.ts'

const ORDER = 'test/infra/fixtures/order.ts'
const RESIZE = 'test/infra/fixtures/resize.ts'
const SHOP = 'test/infra/fixtures/shop.ts'

const registrationOf = (type: string, resources: readonly Resource[]) =>
  resources.find(({ Type, Properties }) => Type === 'Custom::BatonType' && Properties.type === type)

describe('A flow', () => {
  const { stack, tasks } = aSystem()
  const flow = tasks.addFlow('Order', { entry: ORDER })
  tasks.addHandler('Resize', { entry: RESIZE })
  const { resources } = readTemplate(stack)
  const registration = registrationOf('order', resources)

  test('is a registration and nothing else', () => {
    const added = resources.filter(({ id }) => id.startsWith('TasksHandlersOrder'))

    expect(flow.type).toBe('order')
    expect(added.map(({ Type }) => Type)).toEqual(['Custom::BatonType'])
  })

  test('is registered with its steps', () => {
    expect(JSON.parse(registration?.Properties.configuration)).toEqual({
      kind: 'flow',
      defaults: {},
      onCancel: 'leave',
      steps: [{ name: 'resize', do: { type: 'resize', timeoutMs: 5_000 }, undo: { type: 'images.second' } }],
    })
    expect(targetOf(registration?.Properties.ServiceToken)).toMatch(/^TasksRegistrarFunction/)
    expect(registration?.Properties.servedBy).toBeUndefined()
  })

  test('is registered after all served types, even those that are added later', () => {
    const ids = ['resize', 'webhook'].map(type => registrationOf(type, resources)?.id)

    expect([...(registration?.DependsOn ?? [])].sort()).toEqual(ids.sort())
  })

  test('is chosen by its export if the entry has several', () => {
    const system = aSystem()

    expect(system.tasks.addFlow('Buy', { entry: SHOP, flow: 'buy' }).type).toBe('buy')
  })
})

describe('A worker service with flows in its entry', () => {
  const { stack, tasks } = aSystem()
  const service = tasks.addWorkerService('Shop', { entry: SHOP })
  const { resources } = readTemplate(stack)

  test('serves the tasks', () => {
    expect(service.queues.map(({ type }) => type)).toEqual(['charge', 'reserve'])
  })

  test('registers the flows, which need no server', () => {
    const servers = ['buy', 'hold', 'charge'].map(
      type => registrationOf(type, resources)?.Properties.servedBy,
    )

    expect(service.flows.map(({ type }) => type)).toEqual(['buy', 'hold'])
    expect(servers).toEqual([undefined, undefined, 'workers'])
  })
})

describe('At synth it is refused, naming file, type and step', () => {
  test('that no handler or worker serves a step', () => {
    const { stack, tasks } = aSystem()
    tasks.addFlow('Order', { entry: ORDER })

    expect(() => readTemplate(stack)).toThrow(
      "test/infra/fixtures/order.ts, flow 'order': steps.0.do is done by 'resize', which nothing here serves; add it with addHandler",
    )
  })

  test('unless the step names a type, which may be served elsewhere', () => {
    const { stack, tasks } = aSystem()
    tasks.addFlow('Order', { entry: ORDER })
    tasks.addWorkerQueue('Resize', { entry: RESIZE })

    expect(() => readTemplate(stack)).not.toThrow()
  })

  test('that a step names a flow by its type', () => {
    const { stack, tasks } = aSystem()
    tasks.addFlow('Named', { entry: 'test/infra/fixtures/named-flow.ts', flow: 'outer' })
    tasks.addFlow('Inner', { entry: 'test/infra/fixtures/named-flow.ts', flow: 'inner' })

    expect(() => readTemplate(stack)).toThrow(
      "flow 'outer': steps.0.undo must name a type that is not a flow; 'inner' is a flow",
    )
  })
})

describe('It is refused', () => {
  const { tasks } = aSystem()

  test.each([
    ['that a flow has a handler', () => tasks.addHandler('A', { entry: ORDER }), "'order' is a flow"],
    [
      'that a flow has a handler by its name',
      () => tasks.addHandler('B', { entry: SHOP, task: 'buy' }),
      "'buy' is a flow: it is registered with addFlow",
    ],
    ['that workers serve a flow alone', () => tasks.addWorkerService('C', { entry: ORDER }), 'addFlow'],
    ['that a queue is for a flow', () => tasks.addWorkerQueue('D', { entry: ORDER }), 'addFlow'],
    ['that a task is a flow', () => tasks.addFlow('E', { entry: RESIZE }), "'resize' is a task"],
    [
      'that a task is a flow by its name',
      () => tasks.addFlow('F', { entry: SHOP, flow: 'charge' }),
      "'charge' is a task: it is served with addHandler",
    ],
    [
      'that the options do not say which flow',
      () => tasks.addFlow('G', { entry: SHOP }),
      "exports 'buy', 'hold'; choose one with 'flow'",
    ],
    [
      'that there is none of the name',
      () => tasks.addFlow('H', { entry: SHOP, flow: 'sell' }),
      "exports no flow definition 'sell'; it exports 'buy', 'hold'",
    ],
    [
      'that there is none at all',
      () => tasks.addFlow('I', { entry: 'test/infra/fixtures/no-task.ts' }),
      'exports no flow; export what defineFlow returns',
    ],
    [
      'that it is larger than a deployment carries',
      () => tasks.addFlow('J', { entry: 'test/infra/fixtures/large-flow.ts' }),
      '100000 can be deployed',
    ],
  ])('%s', (_what, add, message) => {
    expect(add).toThrow(message)
  })

  test('that two flows, or a flow and a task, have one type', () => {
    const system = aSystem()
    system.tasks.addFlow('Order', { entry: ORDER })

    expect(() => system.tasks.addFlow('Again', { entry: ORDER })).toThrow("serves the type 'order'")
  })
})
