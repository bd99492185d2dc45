import type { Stack } from 'aws-cdk-lib'
import { AnyPrincipal, Role } from 'aws-cdk-lib/aws-iam'
import { describe, expect, it } from 'vitest'
import type { Grantee } from '../../../infra/index.ts'
import { aSystem, readTemplate } from '../synthesised.ts'

/** The policies that programs of users get. test/system/permissions/grants.slow.test.ts tries what they allow. */

type Statement = {
  readonly Action: string | string[]
  readonly Resource: unknown
  readonly Condition?: Record<string, Record<string, string[]>>
}

function aProgram(stack: Stack): Grantee & { readonly role: Role } {
  const role = new Role(stack, 'Mine', { assumedBy: new AnyPrincipal() })
  return { role, addToRolePolicy: one => role.addToPrincipalPolicy(one), addEnvironment: () => {} }
}

function statementsOf(stack: Stack): Statement[] {
  const policies = readTemplate(stack).ofType('AWS::IAM::Policy')
  return policies.find(({ id }) => id.startsWith('Mine'))?.Properties.PolicyDocument.Statement
}

const keysOf = (statements: readonly Statement[]) =>
  new Set(
    statements.flatMap(({ Condition = {} }) =>
      Object.values(Condition).flatMap(one => one['dynamodb:LeadingKeys'] ?? []),
    ),
  )

describe('a worker of a type', () => {
  it('gets the variables that createWorker reads', () => {
    const { stack, tasks } = aSystem()

    const environment = tasks.grantServe(aProgram(stack).role, { types: ['resize'] })

    expect(Object.keys(environment).sort()).toEqual(['BATON_SYSTEM', 'BATON_TABLE', 'BATON_WAKE_QUEUE_URL'])
    expect(environment.BATON_SYSTEM).toBe('Baton')
    const outputs = Object.keys(readTemplate(stack).json.Outputs)
    expect(outputs).toEqual(expect.arrayContaining(['SystemName', 'TableName', 'WakeQueueUrl']))
  })

  it('reaches flows whose steps it does, whether they were added before or after the grant', () => {
    const { stack, tasks } = aSystem()
    tasks.addHandler('Reserve', { entry: 'test/infra/fixtures/shop.ts', task: 'reserve' })
    tasks.addHandler('Charge', { entry: 'test/infra/fixtures/shop.ts', task: 'charge' })
    tasks.grantServe(aProgram(stack).role, { types: ['reserve'] })
    tasks.addFlow('Order', { entry: 'test/infra/fixtures/shop.ts', flow: 'buy' })

    const keys = keysOf(statementsOf(stack))

    expect(keys).toContain('reserve:*')
    expect(keys).toContain('buy:*')
    expect(keys).not.toContain('*:*')
  })

  it('may receive from the queue of its type, and from no other', () => {
    const { stack, tasks } = aSystem()
    tasks.grantServe(aProgram(stack).role, { types: ['resize'] })

    const queues = statementsOf(stack).filter(({ Action }) =>
      [Action].flat().some(one => one.startsWith('sqs:')),
    )

    expect(queues).toHaveLength(1)
    expect(JSON.stringify(queues[0]?.Resource)).toMatch(/:Baton-q-resize"/)
  })
})

describe('a program that publishes', () => {
  it('named types only is given no publishing route, since the body names the type', () => {
    const { stack, tasks } = aSystem()
    tasks.grantPublish(aProgram(stack), { types: ['resize'] })

    const routes = JSON.stringify(
      statementsOf(stack)
        .filter(({ Action }) => Action === 'execute-api:Invoke')
        .map(({ Resource }) => Resource),
    )

    expect(routes).toContain('/GET/v1/tasks/resize:*')
    expect(routes).not.toContain('POST')
  })

  it('named types only reads and lists these types in the table, and no user', () => {
    const { stack, tasks } = aSystem()
    tasks.grantPublish(aProgram(stack), { types: ['resize'] })

    const keys = keysOf(statementsOf(stack))

    expect([...keys].filter(key => !key.includes('resize')).sort()).toEqual([
      'canvas:*',
      'gone-workers',
      'starts#*',
      'steps#*',
      'types',
      'workers',
    ])
    expect(keys).toContain('resize#*')
  })

  it('all types may also list the tasks of a user', () => {
    const { stack, tasks } = aSystem()
    tasks.grantPublish(aProgram(stack))

    expect(keysOf(statementsOf(stack))).toContain('user#*')
  })
})

describe('a program that operates', () => {
  it('is given routes that name the stage, so that no longer path matches', () => {
    const { stack, tasks } = aSystem()
    tasks.grantOperate(aProgram(stack), { types: ['resize'] })

    const resources = statementsOf(stack).flatMap(({ Resource }) => [Resource].flat())

    expect(resources.length).toBeGreaterThan(5)
    for (const resource of resources) expect(JSON.stringify(resource)).toMatch(/\/\$default\/[A-Z]+\/v1\//)
  })
})

describe('the types that callbacks and steps of a type may have', () => {
  const otherTypesIn = (stack: Stack) =>
    JSON.parse(readTemplate(stack).ofType('Custom::BatonOtherTypes')[0]?.Properties.otherTypes)
  const entry = 'test/infra/fixtures/shop.ts'

  it('are not bound where no program is limited to types', () => {
    const { stack, tasks } = aSystem()
    tasks.addHandler('Reserve', { entry, task: 'reserve' })
    tasks.grantPublish(aProgram(stack))

    expect(otherTypesIn(stack)).toEqual({})
  })

  it('are those that every limited program of the type may write, flows of its steps included, whatever the order', () => {
    const { stack, tasks } = aSystem()
    tasks.grantPublish(aProgram(stack), { types: ['reserve', 'mail', 'news'] })
    tasks.addHandler('Reserve', { entry, task: 'reserve', otherTypes: ['mail', 'sms'] })
    tasks.addHandler('Charge', { entry, task: 'charge' })
    tasks.grantServe(new Role(stack, 'Other', { assumedBy: new AnyPrincipal() }), { types: ['mail'] })
    tasks.addFlow('Order', { entry, flow: 'buy' })

    expect(otherTypesIn(stack)).toEqual({
      buy: ['mail', 'reserve', 'sms'],
      mail: [],
      news: ['mail', 'reserve'],
      reserve: ['mail'],
      sms: ['buy', 'mail', 'reserve'],
    })
  })

  it('are bound after all types are registered', () => {
    const { stack, tasks } = aSystem()
    tasks.addHandler('Reserve', { entry, task: 'reserve', otherTypes: [] })
    tasks.addHandler('Charge', { entry, task: 'charge' })
    tasks.addFlow('Order', { entry, flow: 'buy' })

    const { ofType } = readTemplate(stack)

    const registrations = ofType('Custom::BatonType').map(({ id }) => id)
    expect(ofType('Custom::BatonOtherTypes')[0]?.DependsOn).toEqual(expect.arrayContaining(registrations))
  })
})

it.each([[[]], [['*']], [['resize', 'a:b']], [['re?ize']], [['canvas']]])(
  'types %j are refused: a policy would take more than they say',
  types => {
    const { stack, tasks } = aSystem()
    const program = aProgram(stack)

    expect(() => tasks.grantPublish(program, { types })).toThrow(/'types'/)
    expect(() => tasks.grantOperate(program, { types })).toThrow(/'types'/)
    expect(() => tasks.grantServe(program.role, { types })).toThrow(/'types'/)
  },
)
