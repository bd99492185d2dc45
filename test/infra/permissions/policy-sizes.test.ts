import { type App, type Stack, Stage } from 'aws-cdk-lib'
import { AccountPrincipal, type IRole, Role } from 'aws-cdk-lib/aws-iam'
import { describe, expect, it } from 'vitest'
import type { TaskSystem } from '../../../infra/index.ts'
import { anApp, aSystem, type Resource, readTemplate, targetOf, tasksOf } from '../synthesised.ts'

/** The quotas of IAM, stated here again: 10,240 characters inline, 6,144 a managed policy, ten of them on a role. */

const NAME_CHARACTERS = 100
/** A name of 100 characters that is different for each number. */
const longName = (nth: number) =>
  `a-type-${nth}-`.padEnd(NAME_CHARACTERS - 3, 'x') + String(nth).padStart(3, '0')
const longNames = (count: number) => Array.from({ length: count }, (_, nth) => longName(nth))

/** The text that a reference becomes in an account, at least as long as it is there. */
function deployed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(deployed)
  if (typeof value !== 'object' || value === null) return value
  const [name = '', argument] = Object.entries(value)[0] ?? []
  if (name === 'Fn::Join') return (deployed(argument) as [string, string[]])[1].join('')
  const pseudo = {
    'AWS::Partition': 'aws',
    'AWS::Region': 'ap-southeast-1',
    'AWS::AccountId': '000000000000',
  }
  if (name === 'Ref') return pseudo[argument as keyof typeof pseudo] ?? 'a1b2c3d4e5'
  if (name === 'Fn::GetAtt')
    return `arn:aws:service:ap-southeast-1:000000000000:Baton-${argument[0]}-ABCDEFGHIJKLM`
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, deployed(one)]))
}

const lengthOf = (document: unknown) => JSON.stringify(deployed(document)).length

/** The characters of the policies of each role of a template. */
function sizesIn(resources: readonly Resource[]) {
  const of = (type: string, role: string) =>
    resources.filter(
      ({ Type, Properties }) =>
        Type === type && (Properties.Roles ?? []).some((one: unknown) => (targetOf(one) ?? one) === role),
    )
  const roles = new Set(
    resources.flatMap(({ id, Type, Properties }) =>
      Type === 'AWS::IAM::Role' ? [id] : (Properties.Roles ?? []).map((one: unknown) => targetOf(one) ?? one),
    ),
  )
  return [...roles].map(role => {
    const characters = (type: string) =>
      of(type, role).map(({ Properties }) => lengthOf(Properties.PolicyDocument))
    const inline = characters('AWS::IAM::Policy').reduce((sum, one) => sum + one, 0)
    return { role, inline, managed: characters('AWS::IAM::ManagedPolicy') }
  })
}

function expectToFit(resources: readonly Resource[]): void {
  for (const { role, inline, managed } of sizesIn(resources)) {
    expect(inline, role).toBeLessThanOrEqual(10_240)
    expect(managed.length, role).toBeLessThanOrEqual(10)
    for (const one of managed) expect(one, role).toBeLessThanOrEqual(6_144)
  }
}

/** All patterns of partition keys that the policies of a role allow for an action. */
function keysFor(resources: readonly Resource[], action: string): string[] {
  return resources
    .filter(({ Type }) => /^AWS::IAM::(Managed)?Policy$/.test(Type))
    .flatMap(({ Properties }) => Properties.PolicyDocument.Statement)
    .filter(({ Action }) => [Action].flat().includes(action))
    .flatMap(({ Condition }) => Condition?.['ForAllValues:StringLike']?.['dynamodb:LeadingKeys'] ?? [])
}

const aRole = (stack: Stack, id = 'Mine') => new Role(stack, id, { assumedBy: new AccountPrincipal('1') })
const aProgram = (role: Role) => ({
  role,
  addToRolePolicy: (one: Parameters<Role['addToPolicy']>[0]) => role.addToPrincipalPolicy(one),
  addEnvironment: () => {},
})

describe('the policies fit the quotas of IAM', () => {
  it('of 90 handlers with type names of 100 characters, 30 to a function, that reach no other types', () => {
    const { app, stack, tasks } = aSystem()
    for (const group of ['a', 'b', 'c']) {
      const types = Array.from({ length: 30 }, (_, nth) => `${group}${nth}`.padEnd(NAME_CHARACTERS, '_x'))
      tasks.addHandlers(`Group-${group}`, { entries: tasksOf(types).entry, otherTypes: [] })
    }

    const all = everyResource(app, stack)

    expect(all.filter(({ Type }) => Type === 'Custom::BatonType')).toHaveLength(91)
    expectToFit(all)
  })

  it('of 30 types of 39 characters in one function', () => {
    const { app, stack, tasks } = aSystem()
    const types = Array.from({ length: 30 }, (_, nth) => `t${nth}`.padEnd(39, '_x'))
    tasks.addHandlers('Small', { entries: tasksOf(types).entry, otherTypes: [] })

    expectToFit(everyResource(app, stack))
  })

  it('of 90 handlers of their own, each with 5 other types', () => {
    const { app, stack, tasks } = aSystem()
    const types = Array.from({ length: 90 }, (_, nth) => `t${nth}`.padEnd(NAME_CHARACTERS, '_x'))
    const entry = tasksOf(types).entry
    for (const [nth, task] of types.entries())
      tasks.addHandler(`H${nth}`, { entry, task, otherTypes: longNames(5) })

    expectToFit(everyResource(app, stack))
  })

  it.each([
    [15, 36],
    [30, 100],
  ])('of a program with every grant for %i types of %i characters', (count, characters) => {
    const { stack, tasks } = aSystem()
    const types = Array.from({ length: count }, (_, nth) => `t${nth}`.padEnd(characters, '_x'))
    tasks.grantServe(aRole(stack, 'Serving'), { types })
    tasks.grantPublish(aProgram(aRole(stack, 'Publishing')), { types })
    tasks.grantOperate(aProgram(aRole(stack, 'Operating')), { types: types.slice(0, 15) })

    expectToFit(readTemplate(stack).resources)
  })

  it('of a system in a stage of the app', () => {
    const stage = new Stage(anApp(), 'Production')
    const { stack, tasks } = aSystem({}, 'Baton', stage as unknown as App)
    tasks.grantServe(aRole(stack), { types: longNames(30) })

    expectToFit(readTemplate(stack).resources)
  })
})

describe('a grant that is divided', () => {
  it('allows each action on the partitions of each type, as before', () => {
    const few = aSystem()
    const types = longNames(30)
    for (const type of types) few.tasks.grantServe(aRole(few.stack, type), { types: [type] })
    const many = aSystem()
    many.tasks.grantServe(aRole(many.stack), { types })

    for (const action of ['GetItem', 'PutItem', 'UpdateItem', 'Query', 'BatchGetItem']) {
      const one = new Set(keysFor(readTemplate(few.stack).resources, `dynamodb:${action}`))
      expect(new Set(keysFor(readTemplate(many.stack).resources, `dynamodb:${action}`))).toEqual(one)
    }
  })

  it('keeps the keys of a batch in one statement, since IAM compares all of them with one list', () => {
    const { stack, tasks } = aSystem()
    const types = longNames(30)
    tasks.grantServe(aRole(stack), { types })

    const statements = readTemplate(stack)
      .resources.flatMap(({ Properties }) => Properties.PolicyDocument?.Statement ?? [])
      .filter(({ Action }) => [Action].flat().includes('dynamodb:BatchGetItem'))
      .map(({ Condition }) => Condition?.['ForAllValues:StringLike']?.['dynamodb:LeadingKeys'] ?? [])

    expect(statements).toContainEqual(types.map(type => `${type}:*`).sort())
    for (const type of types) {
      const shards = [`permits#${type}`, `permits#${type}#*`, `permits#${type}=*`]
      expect(statements).toContainEqual(expect.arrayContaining(shards))
    }
  })

  it('attaches managed policies to an imported role, too', () => {
    const { stack, tasks } = aSystem()
    const role = Role.fromRoleArn(stack, 'Imported', 'arn:aws:iam::000000000000:role/mine')
    tasks.grantServe(role, { types: longNames(20) })

    const { resources } = readTemplate(stack)
    const own = sizesIn(resources).find(one => one.role === 'mine')

    expect(own?.managed.length).toBeGreaterThan(1)
    expectToFit(resources)
  })

  it('that fits stays inline', () => {
    const { stack, tasks } = aSystem()
    tasks.grantServe(aRole(stack), { types: ['resize', 'order'] })

    expect(readTemplate(stack).ofType('AWS::IAM::ManagedPolicy')).toEqual([])
  })
})

describe('a grant that no role can hold is refused at synthesis', () => {
  const refusalOf = (grant: (tasks: TaskSystem, role: Role & IRole) => void) => {
    const { app, stack, tasks } = aSystem()
    grant(tasks, aRole(stack))
    try {
      app.synth()
    } catch (error) {
      return String(error)
    }
    return ''
  }

  it('with the role, and a number of types that fits', () => {
    const publish = (count: number) =>
      refusalOf((tasks, role) => tasks.grantPublish(aProgram(role), { types: longNames(count) }))

    const refusal = publish(90)

    expect(refusal).toMatch(
      /the role Baton\/Mine needs .* IAM allows 10240 characters, and 10 policies of 6144/,
    )
    const legal = Number(/name at most (\d+) of them/.exec(refusal)?.[1])
    expect(legal).toBeGreaterThan(30)
    expect(publish(legal)).toBe('')
  })

  it('when the grantee does not say its role, because only a role can have managed policies', () => {
    const refusal = refusalOf((tasks, role) => {
      const { role: _hidden, ...grantee } = aProgram(role)
      tasks.grantPublish(grantee, { types: longNames(20) })
    })

    expect(refusal).toMatch(/a grant of Baton\/Tasks has \d+ characters for 20 types, and IAM allows 10240/)
  })
})

/** The resources of a stack and of its nested stacks. */
function everyResource(app: App, stack: Stack): Resource[] {
  app.synth()
  const nested = stack.node
    .findAll()
    .filter(one => 'nestedStackParent' in one && one.nestedStackParent) as Stack[]
  return [stack, ...nested].flatMap(one => readTemplate(one).resources)
}
