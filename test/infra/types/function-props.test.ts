import { Size } from 'aws-cdk-lib'
import { type IVpc, SecurityGroup, Vpc } from 'aws-cdk-lib/aws-ec2'
import { Architecture, Code, LayerVersion, Runtime } from 'aws-cdk-lib/aws-lambda'
import { describe, expect, it } from 'vitest'
import type { HandlerProps } from '../../../infra/index.ts'
import { aSystem, readTemplate } from '../synthesised.ts'

const RESIZE = 'test/infra/fixtures/resize.ts'

/** What a test adds to a handler that is not legal for the compiler. */
const withProps = (props: object) => () =>
  aSystem({ webhook: false }).tasks.addHandler('Resize', {
    entry: RESIZE,
    ...(props as Partial<HandlerProps>),
  })

describe('A handler', () => {
  it('runs on the given processor, with its layers and storage', () => {
    const { stack, tasks } = aSystem({ webhook: false })
    const layer = new LayerVersion(stack, 'Fonts', {
      code: Code.fromAsset('test/infra/fixtures'),
      compatibleArchitectures: [Architecture.X86_64],
    })
    tasks.addHandler('Resize', {
      ...{ entry: RESIZE, architecture: Architecture.X86_64, layers: [layer] },
      ephemeralStorageSize: Size.gibibytes(2),
    })
    const { ofType } = readTemplate(stack)
    const { Properties } = ofType('AWS::Lambda::Function').find(({ id }) => id.includes('Resize'))!

    expect(Properties).toMatchObject({
      Architectures: ['x86_64'],
      EphemeralStorage: { Size: 2_048 },
      Layers: [{ Ref: ofType('AWS::Lambda::LayerVersion')[0]!.id }],
    })
  })

  it('in a network has its subnets and groups, and may create its interfaces', () => {
    const { stack, tasks } = aSystem({ webhook: false })
    const vpc = new Vpc(stack, 'Net', { maxAzs: 1 })
    const group = new SecurityGroup(stack, 'Group', { vpc: vpc as IVpc })
    tasks.addHandler('Resize', { entry: RESIZE, vpc, securityGroups: [group] })
    const { ofType } = readTemplate(stack)
    const { Properties } = ofType('AWS::Lambda::Function').find(({ id }) => id.includes('Resize'))!
    const statements = ofType('AWS::IAM::Policy')
      .filter(({ id }) => id.includes('ResizeRole'))
      .flatMap(({ Properties: policy }) => policy.PolicyDocument.Statement as Array<{ Action: string[] }>)

    expect(Properties.VpcConfig.SubnetIds).toEqual([{ Ref: expect.stringContaining('NetPrivateSubnet1') }])
    expect(Properties.VpcConfig.SecurityGroupIds).toHaveLength(1)
    expect(statements.flatMap(({ Action }) => Action).filter(name => name.startsWith('ec2:'))).toEqual([
      'ec2:AssignPrivateIpAddresses',
      'ec2:CreateNetworkInterface',
      'ec2:DeleteNetworkInterface',
      'ec2:DescribeNetworkInterfaces',
      'ec2:DescribeSubnets',
      'ec2:UnassignPrivateIpAddresses',
    ])
  })
})

describe('An option of a handler is refused', () => {
  it.each<[string, object, string]>([
    [
      'that does not exist',
      { memorysize: 256 },
      `${RESIZE}: memorysize is not a field here; did you mean 'memorySize'?`,
    ],
    [
      'that is a list for one module',
      { bundling: { nodeModules: 'sharp' } },
      `${RESIZE}: bundling.nodeModules must be a list of 0–100 members, not 'sharp'`,
    ],
    [
      'that names a file instead of a package',
      { bundling: { nodeModules: ['./sharp'] } },
      "bundling.nodeModules.0 must be the name of a package, such as 'sharp' or '@scope/name', not './sharp'",
    ],
    [
      'of the bundling that does not exist',
      { bundling: { external: ['sharp'] } },
      "bundling.external is not a field here; did you mean 'externalModules'?",
    ],
    [
      'with a loader that esbuild does not have',
      { bundling: { loader: { '.html': 'txt' } } },
      'bundling.loader..html must be one of base64, binary,',
    ],
    [
      'with a loader for no extension',
      { bundling: { loader: { html: 'text' } } },
      "bundling.loader must be an object of loaders by extensions, such as { '.html': 'text' }, not 'html'",
    ],
    [
      'with a constant that is not a text',
      { bundling: { define: { STAGE: 1 } } },
      'bundling.define.STAGE must be a text, not 1',
    ],
    [
      'with a missing tsconfig',
      { bundling: { tsconfig: 'absent.json' } },
      'bundling.tsconfig must be the path of a file',
    ],
    [
      'for a processor that Lambda does not have',
      { architecture: 'arm64' },
      "task 'resize': architecture must be Architecture.ARM_64 or Architecture.X86_64, not 'arm64'",
    ],
    [
      'that needs a network',
      { securityGroups: [] },
      "task 'resize': securityGroups is given without vpc, which it belongs to",
    ],
    [
      'with too much storage',
      { ephemeralStorageSize: Size.gibibytes(20) },
      'ephemeralStorageSize must be a whole number of megabytes from 512 to 10240, not 20480',
    ],
    [
      'with a number in its environment',
      { environment: { RETRIES: 3 } },
      'environment.RETRIES must be a text, not 3',
    ],
    ['that is not a flag', { events: 'yes' }, "events must be true or false, not 'yes'"],
  ])('%s', (_what, props, message) => {
    expect(withProps(props)).toThrow(message)
  })

  it('with a layer for another processor', () => {
    const { stack, tasks } = aSystem({ webhook: false })
    const layer = new LayerVersion(stack, 'Fonts', {
      code: Code.fromAsset('test/infra/fixtures'),
      compatibleArchitectures: [Architecture.X86_64],
      compatibleRuntimes: [Runtime.NODEJS_24_X],
    })

    expect(() => tasks.addHandler('Resize', { entry: RESIZE, layers: [layer] })).toThrow(
      "task 'resize': layers.0 must be a layer for arm64, the function's architecture, not for x86_64",
    )
  })

  it.each([
    ['addWorkerService', { entry: RESIZE, memorySize: 512 }, 'memorySize is not a field here'],
    ['addWorkerQueue', { entry: RESIZE, name: 'resize' }, 'name is not a field here'],
    ['addFlow', { entry: 'test/infra/fixtures/order.ts', steps: [] }, 'steps is not a field here'],
    ['addHandlers', { entries: RESIZE, task: 'resize' }, 'task is not a field here'],
  ] as const)('of %s that does not exist', (method, props, message) => {
    const { tasks } = aSystem({ webhook: false })

    expect(() => (tasks[method] as (id: string, props: object) => unknown)('It', props)).toThrow(message)
  })
})
