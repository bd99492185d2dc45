import { readdirSync, readFileSync } from 'node:fs'
import { basename, isAbsolute, join } from 'node:path'
import { App, Stack } from 'aws-cdk-lib'
import { Function as LambdaFunction, Runtime } from 'aws-cdk-lib/aws-lambda'
import { describe, expect, it } from 'vitest'
import { handlerCode, type UserCode } from '../../../infra/bundling/bundling.ts'
import type { Cpu } from '../../../infra/bundling/native.ts'
import { TaskSystem } from '../../../infra/index.ts'
import { workerImage } from '../../../infra/workers/container.ts'
import { readAssembly } from '../../../local/template/stack.ts'
import { aFolder } from '../../support/a-folder.ts'
import { aSystem } from '../synthesised.ts'
import { aDefinition, aProject, elf } from './a-project.ts'

/** A project with a native package for both processors, and a handler that uses it. */
function withNative() {
  const root = aProject({
    'node_modules/native/package.json': { version: '1.0.0', main: 'index.js' },
    'node_modules/native/index.js': "exports.name = 'native'",
    'node_modules/native/prebuilds/linux-arm64/a.node': elf('arm64'),
    'node_modules/native/prebuilds/linux-x64/a.node': elf('x64'),
    'page.html': '<p>hello</p>',
    'resize.ts': aDefinition(
      'resize',
      "import { name } from 'native'; import page from './page.html'; declare const STAGE: string; if (name === 'x') console.debug(page, STAGE)",
    ),
  })
  const bundling = {
    nodeModules: ['native'],
    loader: { '.html': 'text' },
    define: { STAGE: '"live"' },
    minify: false,
    sourceMap: false,
  } as const
  return { root, entry: join(root, 'resize.ts'), bundling }
}

/** Synthesises a stack of its own, and returns its assembly. */
function synthesised(context: Record<string, unknown>, add: (stack: Stack) => void) {
  const outdir = aFolder()
  const app = new App({ outdir, context: { 'aws:cdk:enable-asset-metadata': true, ...context } })
  add(new Stack(app, 'Shop'))
  app.synth()
  const assembly = readAssembly(outdir, 'Shop')
  const only = (type: string, part: string) =>
    Object.entries(assembly.template.Resources).find(
      ([id, one]) => one.Type === type && id.includes(part),
    )![1]
  return { assembly, only }
}

/** A system without the code of its functions. */
function withoutCode(context: Record<string, unknown>, add: (tasks: TaskSystem) => void) {
  return synthesised({ 'aws:cdk:bundling-stacks': [], ...context }, stack =>
    add(new TaskSystem(stack, 'Tasks', { webhook: false })),
  )
}

function codeOfResize({ root, entry, bundling }: ReturnType<typeof withNative>, cpu: Cpu): UserCode {
  const definition = { file: entry, exportName: 'resize', type: 'resize' }
  return { title: entry, name: basename(root), definitions: [definition], cpu, bundling }
}

const filesIn = (folder: string) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort()

it.each<Cpu>(['arm64', 'x64'])('The asset of a handler holds the bundle and its modules for %s', cpu => {
  const project = withNative()

  const { assembly, only } = synthesised(
    {},
    stack =>
      new LambdaFunction(stack, 'Resize', {
        runtime: Runtime.NODEJS_24_X,
        handler: 'index.handler',
        code: handlerCode(stack, codeOfResize(project, cpu)),
      }),
  )
  const folder = assembly.codeDirOf(only('AWS::Lambda::Function', 'Resize'))
  const code = readFileSync(join(folder, 'index.mjs'), 'utf8')

  expect(filesIn(folder)).toEqual([
    'index.mjs',
    'node_modules/native/index.js',
    'node_modules/native/package.json',
    `node_modules/native/prebuilds/linux-${cpu}/a.node`,
  ])
  expect(code).toMatch(/from ?"native"/)
  expect(code).toContain('<p>hello</p>')
  expect(code).toContain('"live"')
})

describe('Under baton dev', () => {
  const { root, entry, bundling } = withNative()
  const { assembly, only } = withoutCode({ 'baton:dev': true }, tasks => {
    tasks.addHandler('Resize', { entry, bundling })
    tasks.addHandlers('Small', { entries: 'test/infra/fixtures/two-tasks.ts' })
    tasks.addWorkerService('Media', { entry: 'test/system/tasks/encode.ts' })
  })

  it('a handler has a placeholder for its code, and says how its code is bundled', () => {
    const fn = only('AWS::Lambda::Function', 'Resize')
    const described = fn.Metadata!['baton:bundle'] as { entry: string; options: object }

    expect(filesIn(assembly.codeDirOf(fn))).toEqual(['index.mjs'])
    expect(described).toEqual({
      types: ['resize'],
      entry: expect.stringMatching(/\.baton\/entries\/Shop-q-resize\.ts$/),
      options: expect.objectContaining({
        bundle: true,
        format: 'esm',
        external: ['native'],
        loader: { '.html': 'text' },
        define: { STAGE: '"live"' },
      }),
      runtime: expect.stringMatching(/functions\/executor\.ts$/),
      nodeModules: ['native'],
      root,
    })
    expect(isAbsolute(described.entry)).toBe(true)
    expect(readFileSync(described.entry, 'utf8')).toContain('executorOf(task0)')
  })

  it('a function of several types names them all', () => {
    const { Metadata } = only('AWS::Lambda::Function', 'Small')

    expect(Metadata?.['baton:bundle']).toMatchObject({ types: ['first', 'images.second'] })
  })

  it('a worker service is bundled by the synthesis, because its container runs from the start', () => {
    expect(only('AWS::ECS::TaskDefinition', 'Media').Metadata ?? {}).not.toHaveProperty('baton:bundle')
  })
})

it('Otherwise the template does not say how code is bundled, since that names paths of the machine', () => {
  const { entry, bundling } = withNative()

  const { only } = withoutCode({}, tasks => tasks.addHandler('Resize', { entry, bundling }))

  expect(only('AWS::Lambda::Function', 'Resize').Metadata).not.toHaveProperty('baton:bundle')
})

it('A refusal of the code reaches the app as it is, without the words of the asset', () => {
  const root = aProject({
    'node_modules/native/package.json': { version: '1.0.0', main: 'index.js' },
    'node_modules/native/index.js': '',
    'node_modules/native/build/a.node': elf('x64'),
    'resize.ts': aDefinition('resize', "import 'native'"),
  })
  const bundling = { nodeModules: ['native'] }
  const code = codeOfResize(
    { ...withNative(), root, entry: join(root, 'resize.ts'), bundling } as never,
    'arm64',
  )

  expect(() => handlerCode(new Stack(), code)).toThrow(
    /^\S+resize\.ts: the native package 'native' has no build for linux-arm64/,
  )
})

describe('The image of a worker service', () => {
  const encode = 'test/system/tasks/encode.ts'

  it('holds the bundle, its modules, and a Dockerfile of the app', () => {
    const code = codeOfResize(withNative(), 'arm64')
    const text = 'FROM my-tools\nCOPY . ./\nCMD ["node", "index.mjs"]\n'

    workerImage(new Stack(), code, join(aProject({ Dockerfile: text }), 'Dockerfile'))
    const folder = join('.baton/images', code.name)

    expect(readFileSync(join(folder, 'Dockerfile'), 'utf8')).toBe(text)
    expect(filesIn(folder)).toEqual([
      '.dockerignore',
      'Dockerfile',
      'index.mjs',
      'node_modules/native/index.js',
      'node_modules/native/package.json',
      'node_modules/native/prebuilds/linux-arm64/a.node',
    ])
  })

  it.each([
    ['is not there', 'absent.Dockerfile', `${encode}: dockerfile: there is no file absent.Dockerfile`],
    ['does not start the worker', 'package.json', 'package.json must copy the bundle and start it'],
  ])('is refused when its Dockerfile %s', (_what, dockerfile, message) => {
    const { tasks } = aSystem({ webhook: false })

    expect(() => tasks.addWorkerService('Media', { entry: encode, dockerfile })).toThrow(message)
  })
})
