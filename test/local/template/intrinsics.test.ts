import { describe, expect, it } from 'vitest'
import { noValue, resolveIntrinsics, type Scope } from '../../../local/template/intrinsics.ts'

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
