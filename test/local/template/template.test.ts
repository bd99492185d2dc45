import { CfnOutput, CfnParameter, CustomResource, Fn, NestedStack } from 'aws-cdk-lib'
import { Queue } from 'aws-cdk-lib/aws-sqs'
import { describe, expect, it } from 'vitest'
import { flatten } from '../../../local/template/flatten.ts'
import {
  noValue,
  resolveIntrinsics,
  type Scope,
  type Template,
  type TemplateResource,
} from '../../../local/template/intrinsics.ts'
import { openStack, readAssembly } from '../../../local/template/stack.ts'
import { fixtureFunction, synthesize } from '../tiny-cloud.ts'

const NESTED = 'AWS::CloudFormation::Stack'
const placeholder = (name: string) => `$${'{'}${name}}`

/** A nested stack `Inner`, which is given these parameters. */
const inner = (parameters: object = {}, more: Partial<TemplateResource> = {}): TemplateResource => ({
  Type: NESTED,
  Properties: { TemplateURL: 'inner', Parameters: parameters },
  ...more,
})

/** Flattens a template with the nested stack `Inner`. */
const flattened = (nested: Partial<Template>, outer: Partial<Template> = {}) =>
  flatten({ ...outer, Resources: { Inner: inner(), ...outer.Resources } }, ({ Properties }) =>
    Properties?.TemplateURL === 'inner' ? { Resources: {}, ...nested } : undefined,
  )

const thing = (value: unknown, more: Partial<TemplateResource> = {}): TemplateResource => ({
  Type: 'Thing',
  Properties: { value },
  ...more,
})
const valueIn = (template: Template, id: string) => template.Resources[id]?.Properties?.value

describe('The resources of a nested stack', () => {
  it('stand in the template under ids that begin with the stack, and the stack itself is gone', () => {
    const { Resources } = flattened({ Resources: { A: thing(1) } }, { Resources: { B: thing(2) } })

    expect(Resources).toEqual({ B: thing(2), InnerA: thing(1) })
  })

  it.each<[string, unknown, unknown]>([
    ['Ref', { Ref: 'Other' }, { Ref: 'InnerOther' }],
    ['Fn::GetAtt as a list', { 'Fn::GetAtt': ['Other', 'Arn'] }, { 'Fn::GetAtt': ['InnerOther', 'Arn'] }],
    ['Fn::GetAtt as text', { 'Fn::GetAtt': 'Other.A.B' }, { 'Fn::GetAtt': ['InnerOther', 'A.B'] }],
    ['a pseudo parameter', { Ref: 'AWS::Region' }, { Ref: 'AWS::Region' }],
    ['a parameter in a list', ['x', { Ref: 'Given' }], ['x', { 'Fn::GetAtt': ['B', 'Arn'] }]],
    ['a parameter with a default', { Ref: 'Usual' }, 'usual'],
    ['a list parameter', { Ref: 'Names' }, { 'Fn::Split': [',', 'a,b'] }],
    [
      'Fn::If',
      { 'Fn::If': ['Yes', { Ref: 'Other' }, 2] },
      { 'Fn::If': ['InnerYes', { Ref: 'InnerOther' }, 2] },
    ],
    ['a condition', { 'Fn::Not': [{ Condition: 'Yes' }] }, { 'Fn::Not': [{ Condition: 'InnerYes' }] }],
    ['the condition of a statement', { Condition: { a: { b: 'c' } } }, { Condition: { a: { b: 'c' } } }],
    [
      'Fn::FindInMap',
      { 'Fn::FindInMap': ['Sizes', 'a', 'b'] },
      { 'Fn::FindInMap': ['InnerSizes', 'a', 'b'] },
    ],
    [
      'Fn::Sub',
      {
        'Fn::Sub': [
          `${placeholder('Other.Arn')} ${placeholder('Given')} ${placeholder('own')} ${placeholder('!kept')}`,
          { own: { Ref: 'Usual' } },
        ],
      },
      {
        'Fn::Sub': [
          `${placeholder('Other.Arn')} ${placeholder('Given')} ${placeholder('own')} ${placeholder('!kept')}`,
          {
            own: 'usual',
            'Other.Arn': { 'Fn::GetAtt': ['InnerOther', 'Arn'] },
            Given: { 'Fn::GetAtt': ['B', 'Arn'] },
          },
        ],
      },
    ],
  ])('say the same in the words of the parent: %s', (_what, value, expected) => {
    const Parameters = {
      Given: { Type: 'String' },
      Usual: { Type: 'String', Default: 'usual' },
      Names: { Type: 'CommaDelimitedList' },
    }
    const given = { Given: { 'Fn::GetAtt': ['B', 'Arn'] }, Names: 'a,b' }

    const template = flattened(
      { Parameters, Resources: { A: thing(value), Other: thing(1) } },
      { Resources: { Inner: inner(given), B: thing(2) } },
    )

    expect(valueIn(template, 'InnerA')).toEqual(expected)
  })

  it('know the stack that they stand in by its own name', () => {
    const template = flattened({ Resources: { A: thing({ Ref: 'AWS::StackName' }) } })

    expect(valueIn(template, 'InnerA')).toEqual({ 'Fn::Join': ['-', [{ Ref: 'AWS::StackName' }, 'Inner']] })
  })

  it('depend on what their stack depends on, and their conditions need that of the stack', () => {
    const template = flattened(
      {
        Conditions: { Own: { 'Fn::Equals': [1, 1] } },
        Resources: { A: thing(1, { DependsOn: 'C', Condition: 'Own' }), C: thing(1) },
      },
      {
        Conditions: { Outer: true },
        Resources: { Inner: inner({}, { DependsOn: ['B'], Condition: 'Outer' }), B: thing(2) },
      },
    )

    expect(template.Resources).toMatchObject({
      InnerA: { DependsOn: ['InnerC', 'B'], Condition: 'InnerOwn' },
      InnerC: { DependsOn: ['B'], Condition: 'Outer' },
    })
    expect(template.Conditions).toEqual({
      Outer: true,
      InnerOwn: { 'Fn::And': [{ Condition: 'Outer' }, { 'Fn::Equals': [1, 1] }] },
    })
  })

  it('have the short id that CDK gives their stack, unless another resource has it', () => {
    const [one, other] = [
      'AbcNestedStackAbcNestedStackResource8733EADC',
      'AbcNestedStackAbcNestedStackResourceFFFFFFFF',
    ]
    const Resources = { [one]: inner(), [other]: inner() }

    const template = flatten({ Resources }, () => ({ Resources: { A: thing(1) } }))

    expect(Object.keys(template.Resources)).toEqual(['AbcA', `${other}A`])
  })
})

describe('The parent of a nested stack', () => {
  const nested: Partial<Template> = {
    Resources: { A: thing(1), C: thing(1) },
    Outputs: { Arn: { Value: { 'Fn::GetAtt': ['A', 'Arn'] } } },
  }

  it.each<[string, unknown, unknown]>([
    ['Fn::GetAtt', { 'Fn::GetAtt': ['Inner', 'Outputs.Arn'] }, { 'Fn::GetAtt': ['InnerA', 'Arn'] }],
    [
      'Fn::Sub',
      { 'Fn::Sub': placeholder('Inner.Outputs.Arn') },
      {
        'Fn::Sub': [
          placeholder('Inner.Outputs.Arn'),
          { 'Inner.Outputs.Arn': { 'Fn::GetAtt': ['InnerA', 'Arn'] } },
        ],
      },
    ],
    [
      'the id of the stack',
      { Ref: 'Inner' },
      {
        'Fn::Join': [
          '',
          [
            'arn:aws:cloudformation:us-east-1:000000000000:stack/',
            { 'Fn::Join': ['-', [{ Ref: 'AWS::StackName' }, 'Inner']] },
            '/local',
          ],
        ],
      },
    ],
  ])('reads its outputs: %s', (_what, value, expected) => {
    const template = flattened(nested, { Resources: { B: thing(value) }, Outputs: { Out: { Value: value } } })

    expect(valueIn(template, 'B')).toEqual(expected)
    expect(template.Outputs?.Out?.Value).toEqual(expected)
  })

  it('depends on all its resources when it depends on the stack', () => {
    const { Resources } = flattened(nested, {
      Resources: { B: thing(1, { DependsOn: ['Inner', 'D'] }), D: thing(1) },
    })

    expect(Resources.B?.DependsOn).toEqual(['InnerA', 'InnerC', 'D'])
  })

  it('passes the outputs of one nested stack to another', () => {
    const templates: Record<string, Template> = {
      one: { Resources: { A: thing(1) }, Outputs: { Arn: { Value: { 'Fn::GetAtt': ['A', 'Arn'] } } } },
      other: { Resources: { B: thing({ Ref: 'P' }) }, Parameters: { P: {} } },
    }
    const stack = (TemplateURL: string, Parameters: object) => ({
      Type: NESTED,
      Properties: { TemplateURL, Parameters },
    })

    const template = flatten(
      {
        Resources: {
          Other: stack('other', { P: { 'Fn::GetAtt': ['One', 'Outputs.Arn'] } }),
          One: stack('one', {}),
        },
      },
      ({ Properties }) => templates[String(Properties?.TemplateURL)],
    )

    expect(valueIn(template, 'OtherB')).toEqual({ 'Fn::GetAtt': ['OneA', 'Arn'] })
  })

  it.each<[string, Partial<Template>, unknown, string]>([
    [
      'an output that the stack does not have',
      nested,
      { 'Fn::GetAtt': ['Inner', 'Outputs.No'] },
      'The nested stack Inner has no output No',
    ],
    [
      'a parameter without a value',
      { Parameters: { P: {} }, Resources: { A: thing({ Ref: 'P' }) } },
      1,
      'The nested stack Inner gets no value for its parameter P',
    ],
  ])('is refused with %s', (_what, template, value, message) => {
    expect(() => flattened(template, { Resources: { B: thing(value) } })).toThrow(message)
  })

  it('keeps a nested stack whose template is not in the app', () => {
    const Resources = { Far: { Type: NESTED, Properties: { TemplateURL: 'https://example.com' } } }

    expect(flatten({ Resources }, () => undefined)).toEqual({ Resources })
  })
})

describe('A stack that CDK has synthesised', () => {
  /** A queue that a nested stack in a nested stack has, a custom resource there, and a function of the stack that reads both. */
  const directory = synthesize(stack => {
    const fn = fixtureFunction(stack, 'Reader', 'writer')
    const middle = new NestedStack(stack, 'Middle')
    const innermost = new NestedStack(middle, 'Innermost')
    new CfnParameter(innermost, 'Usual', { default: 'x' })
    const queue = new Queue(innermost, 'Queue')
    const custom = new CustomResource(innermost, 'Custom', { serviceToken: fn.functionArn })
    fixtureFunction(innermost, 'Deep', 'writer', {
      environment: { URL: queue.queueUrl, READER: fn.functionArn },
    })
    new Queue(stack, 'Mine', { queueName: Fn.join('-', ['of', queue.queueName]) }).node.addDependency(custom)
    new CfnOutput(stack, 'Url', { value: queue.queueUrl })
  })
  const assembly = readAssembly(directory, 'Tiny')
  const stack = openStack(assembly, 'Tiny', {
    gatewayUrl: 'http://gateway',
    apiUrl: 'http://api',
    queueUrl: name => `http://gateway/${name}`,
  })
  const idOf = (type: string, part: string) => stack.ids(type).find(id => id.includes(part)) ?? ''

  it('has the resources of its innermost stack, with values from both sides', () => {
    const url = stack.describe(idOf('AWS::SQS::Queue', 'Innermost')).physicalId

    expect(stack.ids(NESTED)).toEqual([])
    expect(stack.outputs().Url).toBe(url)
    expect(stack.read(idOf('AWS::Lambda::Function', 'Deep'), 'Environment')).toEqual({
      Variables: { URL: url, READER: stack.describe(idOf('AWS::Lambda::Function', 'Reader')).arn },
    })
  })

  it('finds the code of a function in a nested stack', () => {
    const [of, same] = ['Deep', 'Reader'].map(part =>
      assembly.codeDirOf(stack.resource(idOf('AWS::Lambda::Function', part))),
    )

    expect(of).toBe(same)
  })

  it('names the resources of its nested stacks apart', () => {
    const names = stack.ids(type => type !== 'AWS::CDK::Metadata').map(id => stack.describe(id).physicalId)

    expect(new Set(names).size).toBe(names.length)
  })

  it('waits for the nested stack that a resource depends on', () => {
    expect(stack.resource(idOf('AWS::SQS::Queue', 'Mine')).DependsOn).toContain(
      idOf('AWS::CloudFormation::CustomResource', 'Innermost'),
    )
  })
})

it('Long names of resources stay apart', () => {
  const directory = synthesize(stack => {
    const nested = new NestedStack(stack, 'AStackWithAVeryLongNameThatSaysAll')
    for (const id of ['OneQueueWithALongName', 'OneQueueWithALongNameToo']) new Queue(nested, id)
  })
  const stack = openStack(readAssembly(directory, 'Tiny'), 'Tiny', {
    gatewayUrl: '',
    apiUrl: '',
    queueUrl: name => name,
  })

  const [one = '', other = ''] = stack.ids('AWS::SQS::Queue').map(id => stack.describe(id).physicalId)

  expect(one).not.toBe(other)
  expect([one.length, other.length]).toEqual([64, 64])
})

const references: Record<string, unknown> = {
  Queue: 'http://q',
  'AWS::Region': 'us-east-1',
  'AWS::NoValue': noValue,
}

/** A placeholder of Fn::Sub. */
const at = (name: string) => `$${'{'}${name}}`

const scope: Scope = {
  ref: id => references[id],
  attribute: (id, name) => `${id}/${name}`,
  condition: name => name === 'Yes',
  mapping: (map, top, second) => `${map}.${top}.${second}`,
}

describe('intrinsic functions', () => {
  it.each([
    ['text', 'as it is', 'as it is'],
    ['Ref', { Ref: 'Queue' }, 'http://q'],
    ['Fn::GetAtt as a list', { 'Fn::GetAtt': ['Table', 'Arn'] }, 'Table/Arn'],
    ['Fn::GetAtt as text', { 'Fn::GetAtt': 'Table.Stream.Arn' }, 'Table/Stream.Arn'],
    ['Fn::Join', { 'Fn::Join': ['-', ['a', { Ref: 'AWS::Region' }]] }, 'a-us-east-1'],
    [
      'Fn::Sub',
      { 'Fn::Sub': `x-${at('AWS::Region')}-${at('Table.Arn')}-${at('!kept')}` },
      `x-us-east-1-Table/Arn-${at('kept')}`,
    ],
    ['Fn::Sub with variables', { 'Fn::Sub': [at('a'), { a: { Ref: 'Queue' } }] }, 'http://q'],
    ['Fn::Select of Fn::Split', { 'Fn::Select': [1, { 'Fn::Split': [':', 'a:b'] }] }, 'b'],
    ['Fn::If', { 'Fn::If': ['Yes', 1, 2] }, 1],
    ['Fn::If not', { 'Fn::If': ['No', 1, 2] }, 2],
    ['Fn::Equals', { 'Fn::Equals': [{ Ref: 'AWS::Region' }, 'us-east-1'] }, true],
    ['Fn::Not of Fn::And', { 'Fn::Not': [{ 'Fn::And': [{ Condition: 'Yes' }, { Condition: 'No' }] }] }, true],
    ['Fn::Or', { 'Fn::Or': [{ Condition: 'Yes' }, { Condition: 'No' }] }, true],
    ['Fn::FindInMap', { 'Fn::FindInMap': ['m', 'a', 'b'] }, 'm.a.b'],
    ['Fn::Base64', { 'Fn::Base64': 'hi' }, 'aGk='],
    ['AWS::NoValue in an object', { a: 1, b: { Ref: 'AWS::NoValue' } }, { a: 1 }],
    ['AWS::NoValue in a list', [1, { Ref: 'AWS::NoValue' }], [1]],
    ['a policy with a Condition', { Condition: { Bool: { x: 'y' } } }, { Condition: { Bool: { x: 'y' } } }],
  ])('%s', (_name, value, expected) => {
    expect(resolveIntrinsics(value, scope)).toEqual(expected)
  })

  it('an unknown one is refused', () => {
    expect(() => resolveIntrinsics({ 'Fn::ImportValue': 'x' }, scope)).toThrow('Fn::ImportValue')
  })
})
