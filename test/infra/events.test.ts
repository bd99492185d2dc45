import type { Stack } from 'aws-cdk-lib'
import { Rule } from 'aws-cdk-lib/aws-events'
import { SqsQueue } from 'aws-cdk-lib/aws-events-targets'
import { Queue } from 'aws-cdk-lib/aws-sqs'
import { expect, it } from 'vitest'
import { aSystem, readTemplate, synthesise, targetOf } from './synthesised.ts'

const { ofType } = synthesise()
const functionsWith = (variable: string) =>
  ofType('AWS::Lambda::Function').filter(
    ({ Properties }) => Properties.Environment?.Variables?.[variable] !== undefined,
  )

it('A system has one bus, on which planner and waker publish the events that types ask for', () => {
  const buses = ofType('AWS::Events::EventBus')
  const tellers = functionsWith('BATON_EVENT_BUS')

  expect(buses).toHaveLength(1)
  expect(tellers.map(({ id }) => id.slice(0, 12))).toEqual(['TasksPlanner', 'TasksWakerFu'])
  for (const { Properties } of tellers) {
    const { BATON_EVENT_BUS: bus, BATON_EVENTS: scope } = Properties.Environment.Variables
    expect(targetOf(bus)).toBe(buses[0]?.id)
    expect(scope).toBe('types')
  }
})

it('Users add rules of their own to the bus', () => {
  const { tasks, stack } = aSystem()
  const queue = new Queue(stack, 'Mine')

  new Rule(stack, 'Ended', {
    eventBus: tasks.eventBus,
    eventPattern: { source: ['baton'], detailType: ['task.failed'] },
    targets: [new SqsQueue(queue)],
  })

  const [rule] = readTemplate(stack).ofType('AWS::Events::Rule')
  expect(targetOf(rule?.Properties.EventBusName)).toMatch(/^TasksEventsBus/)
})

it('Each way to add a type overrides whether its definition publishes events', () => {
  const { tasks, stack } = aSystem({ webhook: false })
  tasks.addHandler('Resize', { entry: 'test/infra/fixtures/resize.ts', events: true })
  tasks.addWorkerQueue('Second', { entry: 'test/infra/fixtures/two-tasks.ts', task: 'second', events: false })
  tasks.addWorkerService('Shop', { entry: 'test/infra/fixtures/shop.ts', events: true })

  expect(eventsByType(stack)).toMatchObject({ resize: true, 'images.second': false })
  const { resize: _resize, 'images.second': _second, ...ofShop } = eventsByType(stack)
  expect(Object.keys(ofShop).length).toBeGreaterThan(1)
  expect(new Set(Object.values(ofShop))).toEqual(new Set([true]))
})

it('addFlow overrides whether a flow publishes events; without the option the definition decides', () => {
  const { tasks, stack } = aSystem({ webhook: false })
  tasks.addFlow('Order', { entry: 'test/infra/fixtures/order.ts', events: true })
  tasks.addHandler('Resize', { entry: 'test/infra/fixtures/resize.ts' })

  expect(eventsByType(stack)).toEqual({ order: true, resize: undefined })
})

function eventsByType(stack: Stack): Record<string, boolean | undefined> {
  const registrations = readTemplate(stack).ofType('Custom::BatonType')
  return Object.fromEntries(
    registrations.map(({ Properties: { type, configuration } }) => [type, JSON.parse(configuration).events]),
  )
}
