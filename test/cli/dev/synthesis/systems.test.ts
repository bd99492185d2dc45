import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { findSystems, keyOf, stackLabels } from '../../../../cli/dev/synthesis/systems.ts'

const OUTPUTS = { ApiUrl: {}, TableName: {}, SystemName: {}, WakeQueueUrl: {} }
const stack = (templateFile: string, displayName: string) => ({
  type: 'aws:cloudformation:stack',
  displayName,
  properties: { templateFile },
})

function write(folder: string, files: Readonly<Record<string, object>>): void {
  mkdirSync(folder, { recursive: true })
  for (const [name, content] of Object.entries(files))
    writeFileSync(join(folder, name), JSON.stringify(content))
}

function anAssembly(files: Readonly<Record<string, object>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'systems-'))
  write(folder, files)
  return folder
}

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
  const folder = anAssembly({
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
  const folder = anAssembly({
    'manifest.json': {
      artifacts: { P: { type: 'cdk:cloud-assembly', properties: { directoryName: 'assembly-Prod' } } },
    },
  })
  write(join(folder, 'assembly-Prod'), {
    'manifest.json': { artifacts: { Shop: stack('ProdShop1A.template.json', 'Prod/Shop') } },
    'ProdShop1A.template.json': { Outputs: OUTPUTS },
  })

  expect(findSystems(folder)).toMatchObject([
    { stackName: 'ProdShop1A', label: 'Prod/Shop', assemblyDir: join(folder, 'assembly-Prod') },
  ])
})

it('two stages whose stacks have templates of one name have two keys', () => {
  const ofStage = (directoryName: string) => ({ type: 'cdk:cloud-assembly', properties: { directoryName } })
  const folder = anAssembly({
    'manifest.json': { artifacts: { T: ofStage('assembly-Test'), P: ofStage('assembly-Prod') } },
  })
  for (const stage of ['Test', 'Prod']) {
    write(join(folder, `assembly-${stage}`), {
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

  const [one] = findSystems(anAssembly(files(1)))
  const [other] = findSystems(anAssembly(files(2)))

  expect(one?.handlers).toHaveLength(1)
  expect(one?.types).toHaveLength(1)
  expect(one?.text).not.toBe(other?.text)
})

it('a stack with an account and a region of its own is moved to those of the local cloud', () => {
  const resource = (place: string) => ({
    Q: { Type: 'AWS::IAM::Policy', Properties: { Resource: `arn:aws:sqs:${place}:q` } },
  })
  const folder = anAssembly({
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
