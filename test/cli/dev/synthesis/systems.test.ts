import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { findSystems, keyOf, lookUpLines, stackLabels } from '../../../../cli/dev/synthesis/systems.ts'
import { aFolder, writeFiles } from '../../../support/a-folder.ts'

const OUTPUTS = { ApiUrl: {}, TableName: {}, SystemName: {}, WakeQueueUrl: {} }
const stack = (templateFile: string, displayName: string) => ({
  type: 'aws:cloudformation:stack',
  displayName,
  properties: { templateFile },
})

const bundle = { types: ['resize'], entry: '/p/.baton/entries/resize.ts', options: {}, nodeModules: [] }
const fn = (metadata: object, namespace?: string) => ({
  Type: 'AWS::Lambda::Function',
  Metadata: metadata,
  Properties: namespace ? { Environment: { Variables: { POWERTOOLS_METRICS_NAMESPACE: namespace } } } : {},
})
const type = (name: string, configuration: object, more: object = {}) => ({
  Type: 'Custom::BatonType',
  Properties: { type: name, configuration: JSON.stringify(configuration), ...more },
})

it('a stack with a task system is found with its types, its handlers and the functions of Baton', () => {
  const folder = aFolder({
    'manifest.json': {
      artifacts: { Net: stack('Net.template.json', 'Net'), Shop: stack('Shop.template.json', 'Shop') },
    },
    'Net.template.json': { Resources: {}, Outputs: { VpcId: {} } },
    'Shop.template.json': {
      Outputs: { OrdersApiUrl: {}, OrdersTableName: {}, OrdersSystemName: {}, OrdersWakeQueueUrl: {} },
      Resources: {
        Planner: fn({}, 'Baton'),
        Resize: fn({ 'baton:bundle': bundle }, 'Baton'),
        Mail: fn({}),
        ResizeType: type('resize', { kind: 'handler' }),
        VideoType: type('video', { kind: 'handler' }, { servedBy: 'workers' }),
      },
    },
  })

  const [system, ...others] = findSystems(folder)

  expect(others).toEqual([])
  expect(stackLabels(folder)).toEqual(['Net', 'Shop'])
  expect(system).toMatchObject({ stackName: 'Shop', label: 'Shop', assemblyDir: folder })
  expect(system?.types.map(({ type, kind, servedBy }) => [type, kind, servedBy])).toEqual([
    ['resize', 'handler', 'function'],
    ['video', 'handler', 'workers'],
  ])
  expect(system?.handlers).toEqual([{ functionId: 'Resize', bundle }])
  expect([...(system?.ownFunctions ?? [])]).toEqual(['Planner'])
})

it('a stack of a stage is found in the assembly of its stage', () => {
  const folder = aFolder({
    'manifest.json': {
      artifacts: { P: { type: 'cdk:cloud-assembly', properties: { directoryName: 'assembly-Prod' } } },
    },
  })
  writeFiles(join(folder, 'assembly-Prod'), {
    'manifest.json': { artifacts: { Shop: stack('ProdShop1A.template.json', 'Prod/Shop') } },
    'ProdShop1A.template.json': { Outputs: OUTPUTS },
  })

  expect(findSystems(folder)).toMatchObject([
    { stackName: 'ProdShop1A', label: 'Prod/Shop', assemblyDir: join(folder, 'assembly-Prod') },
  ])
})

it('two stages whose stacks have templates of one name have two keys', () => {
  const ofStage = (directoryName: string) => ({ type: 'cdk:cloud-assembly', properties: { directoryName } })
  const folder = aFolder({
    'manifest.json': { artifacts: { T: ofStage('assembly-Test'), P: ofStage('assembly-Prod') } },
  })
  for (const stage of ['Test', 'Prod']) {
    writeFiles(join(folder, `assembly-${stage}`), {
      'manifest.json': { artifacts: { Shop: stack('Shop.template.json', `${stage}/Shop`) } },
      'Shop.template.json': { Outputs: OUTPUTS },
    })
  }

  const systems = findSystems(folder)

  expect(systems.map(({ stackName }) => stackName)).toEqual(['Shop', 'Shop'])
  expect(systems.map(keyOf)).toEqual(['Test/Shop', 'Prod/Shop'])
})

it('handlers in nested stacks belong to the system, and their changes are changes of its text', () => {
  const nested = (timeout: number) => ({
    Resources: {
      Resize: { ...fn({ 'baton:bundle': bundle }), Properties: { Timeout: timeout } },
      T: type('resize', { kind: 'handler' }),
    },
  })
  const files = (timeout: number) => ({
    'manifest.json': { artifacts: { Shop: stack('Shop.template.json', 'Shop') } },
    'Shop.template.json': {
      Outputs: OUTPUTS,
      Resources: {
        N: { Type: 'AWS::CloudFormation::Stack', Metadata: { 'aws:asset:path': 'N.nested.template.json' } },
      },
    },
    'N.nested.template.json': nested(timeout),
  })

  const [one] = findSystems(aFolder(files(1)))
  const [other] = findSystems(aFolder(files(2)))

  expect(one?.handlers).toHaveLength(1)
  expect(one?.types).toHaveLength(1)
  expect(one?.text).not.toBe(other?.text)
})

it('a stack with an account and a region of its own is moved to the local account and region', () => {
  const resource = (place: string) => ({
    Q: { Type: 'AWS::IAM::Policy', Properties: { Resource: `arn:aws:sqs:${place}:q` } },
  })
  const folder = aFolder({
    'manifest.json': {
      artifacts: {
        Shop: { ...stack('Shop.template.json', 'Shop'), environment: 'aws://123456789012/eu-west-1' },
        Any: { ...stack('Any.template.json', 'Any'), environment: 'aws://unknown-account/unknown-region' },
      },
    },
    'Shop.template.json': { Outputs: OUTPUTS, Resources: resource('eu-west-1:123456789012') },
    'Any.template.json': { Outputs: OUTPUTS, Resources: resource('unknown-region:x') },
  })

  const [shop, any] = findSystems(folder)

  expect(JSON.parse(shop?.text ?? '').Resources).toEqual(resource('us-east-1:000000000000'))
  expect(readFileSync(join(folder, 'Shop.template.json'), 'utf8')).toBe(shop?.text)
  expect(JSON.parse(any?.text ?? '').Resources).toEqual(resource('unknown-region:x'))
})

const RESOURCE = { fqn: 'aws-cdk-lib.Resource' }
const subnet = (id: string) => ({ path: `Shop/Net/${id}`, constructInfo: RESOURCE })

function anAssembly(missing: readonly object[]): string {
  const artifacts = { Shop: { environment: 'aws://123456789012/eu-west-1', displayName: 'Shop' } }
  const children = {
    Net: { path: 'Shop/Net', constructInfo: RESOURCE, children: { PublicSubnet1: subnet('PublicSubnet1') } },
    Zone: { path: 'Shop/Zone', constructInfo: RESOURCE },
    Tasks: { path: 'Shop/Tasks', constructInfo: { fqn: 'constructs.Construct' } },
  }
  const tree = { path: '', children: { Shop: { path: 'Shop', children } } }
  return aFolder({ 'manifest.json': { artifacts, missing }, 'tree.json': { tree } })
}

const where = { account: '123456789012', region: 'eu-west-1', lookupRoleArn: 'arn:x' }

it('a look-up is one line that names its construct and what to do', () => {
  const folder = anAssembly([
    { provider: 'vpc-provider', props: { ...where, filter: { isDefault: 'true' } } },
    { provider: 'hosted-zone', props: { ...where, domainName: 'example.com', dummyValue: { Id: 'DUMMY' } } },
    { provider: 'ssm', props: { ...where, parameterName: '/a/b' } },
  ])

  const advice =
    "and gets a placeholder here; 'cdk synth' with credentials keeps the true answer in cdk.context.json"
  expect(lookUpLines(folder)).toEqual([
    `Shop/Net looks up in AWS (vpc-provider, filter {"isDefault":"true"}) ${advice}`,
    `Shop/Zone looks up in AWS (hosted-zone, domainName example.com) ${advice}`,
    `Shop looks up in AWS (ssm, parameterName /a/b) ${advice}`,
  ])
})

it('availability zones are not told: nothing depends on them here', () => {
  expect(lookUpLines(anAssembly([{ provider: 'availability-zones', props: where }]))).toEqual([])
})
