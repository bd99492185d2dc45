import { describe, expect, it } from 'vitest'
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

  it('is a registration and nothing else', () => {
    const added = resources.filter(({ id }) => id.startsWith('TasksHandlersOrder'))

    expect(flow.type).toBe('order')
    expect(added.map(({ Type }) => Type)).toEqual(['Custom::BatonType'])
  })

  it('is registered with its steps', () => {
    expect(JSON.parse(registration?.Properties.configuration)).toEqual({
      kind: 'flow',
      defaults: {},
      onCancel: 'leave',
      steps: [{ name: 'resize', do: { type: 'resize', timeoutMs: 5_000 }, undo: { type: 'images.second' } }],
    })
    expect(targetOf(registration?.Properties.ServiceToken)).toMatch(/^TasksRegistrarFunction/)
    expect(registration?.Properties.servedBy).toBeUndefined()
  })

  it('is registered after all served types, even those that are added later', () => {
    const ids = ['resize', 'webhook'].map(type => registrationOf(type, resources)?.id)

    expect([...(registration?.DependsOn ?? [])].sort()).toEqual(ids.sort())
  })

  it('is chosen by its export if the entry has several', () => {
    const system = aSystem()

    expect(system.tasks.addFlow('Buy', { entry: SHOP, flow: 'buy' }).type).toBe('buy')
  })
})

describe('A worker service with flows in its entry', () => {
  const { stack, tasks } = aSystem()
  const service = tasks.addWorkerService('Shop', { entry: SHOP })
  const { resources } = readTemplate(stack)

  it('serves the tasks', () => {
    expect(service.queues.map(({ type }) => type)).toEqual(['charge', 'reserve'])
  })

  it('registers the flows, which need no server', () => {
    const servers = ['buy', 'hold', 'charge'].map(
      type => registrationOf(type, resources)?.Properties.servedBy,
    )

    expect(service.flows.map(({ type }) => type)).toEqual(['buy', 'hold'])
    expect(servers).toEqual([undefined, undefined, 'workers'])
  })
})

describe('Synthesis refuses, naming file, type and step,', () => {
  it('a step that no handler or worker serves', () => {
    const { stack, tasks } = aSystem()
    tasks.addFlow('Order', { entry: ORDER })

    expect(() => readTemplate(stack)).toThrow(
      "test/infra/fixtures/order.ts, flow 'order': steps.0.do is done by 'resize', which nothing here serves; add it with addHandler",
    )
  })

  it('no step that only names a type, because that type may be served elsewhere', () => {
    const { stack, tasks } = aSystem()
    tasks.addFlow('Order', { entry: ORDER })
    tasks.addWorkerQueue('Resize', { entry: RESIZE })

    expect(() => readTemplate(stack)).not.toThrow()
  })

  it('a step that names a flow by its type', () => {
    const { stack, tasks } = aSystem()
    tasks.addFlow('Named', { entry: 'test/infra/fixtures/named-flow.ts', flow: 'outer' })
    tasks.addFlow('Inner', { entry: 'test/infra/fixtures/named-flow.ts', flow: 'inner' })

    expect(() => readTemplate(stack)).toThrow(
      "flow 'outer': steps.0.undo must name a type that is not a flow; 'inner' is a flow",
    )
  })
})

describe('Synthesis refuses', () => {
  const { tasks } = aSystem()

  it.each([
    ['a handler of a flow', () => tasks.addHandler('A', { entry: ORDER }), "'order' is a flow"],
    [
      'a handler of a flow that its export names',
      () => tasks.addHandler('B', { entry: SHOP, task: 'buy' }),
      "'buy' is a flow: it is registered with addFlow",
    ],
    ['a worker service for a flow only', () => tasks.addWorkerService('C', { entry: ORDER }), 'addFlow'],
    ['a worker queue for a flow', () => tasks.addWorkerQueue('D', { entry: ORDER }), 'addFlow'],
    ['a flow that is a task', () => tasks.addFlow('E', { entry: RESIZE }), "'resize' is a task"],
    [
      'a flow whose export is a task',
      () => tasks.addFlow('F', { entry: SHOP, flow: 'charge' }),
      "'charge' is a task: it is served with addHandler",
    ],
    [
      'a file with several flows when no option chooses one',
      () => tasks.addFlow('G', { entry: SHOP }),
      "exports 'buy', 'hold'; choose one with 'flow'",
    ],
    [
      'an unknown export of a flow',
      () => tasks.addFlow('H', { entry: SHOP, flow: 'sell' }),
      "exports no flow definition 'sell'; it exports 'buy', 'hold'",
    ],
    [
      'a file without a flow',
      () => tasks.addFlow('I', { entry: 'test/infra/fixtures/no-task.ts' }),
      'exports no flow; export what defineFlow returns',
    ],
    [
      'a flow that is too large to deploy',
      () => tasks.addFlow('J', { entry: 'test/infra/fixtures/large-flow.ts' }),
      '100000 can be deployed',
    ],
  ])('%s', (_what, add, message) => {
    expect(add).toThrow(message)
  })

  it('two flows of one type', () => {
    const system = aSystem()
    system.tasks.addFlow('Order', { entry: ORDER })

    expect(() => system.tasks.addFlow('Again', { entry: ORDER })).toThrow("serves the type 'order'")
  })
})
