import { readdirSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { BUNDLE_OPTIONS, bundle } from '../../../infra/bundling/esbuild.ts'
import { readDefinition } from '../../../infra/types/definition.ts'
import { aDefinition, aProject, elf, link } from './a-project.ts'

describe('A definition is loaded as its handler is bundled', () => {
  it.each([
    [
      'a path alias of tsconfig.json',
      { 'tsconfig.json': { compilerOptions: { paths: { '@lib/*': ['./lib/*'] } } } },
      "import { name } from '@lib/name'",
    ],
    ['an import without an extension', {}, "import { name } from './lib/name'"],
    ['an enum', {}, "enum Names { First = 'resize' }; const name = Names.First"],
    ['a JSON file', { 'data.json': { name: 'resize' } }, "import { name } from './data.json'"],
    [
      'code with a `require` of its own',
      { 'data.json': { name: 'resize' } },
      "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url); const { sep } = require('node:path'); const name = sep === '' ? sep : 'resize'",
    ],
    ['JSX', {}, 'const h = (tag: string) => tag; const name = <resize />'],
    [
      'a CommonJS package',
      { 'node_modules/names/package.json': {}, 'node_modules/names/index.js': "exports.name = 'resize'" },
      "import { name } from 'names'",
    ],
  ])('%s', (_what, files, code) => {
    const settings = { compilerOptions: { jsxFactory: 'h' } }
    const root = aProject({
      'tsconfig.json': settings,
      'lib/name.ts': "export const name: string = 'resize'",
      ...files,
      'resize.tsx': `${code}\n${aDefinition('resize').replace("type: 'resize'", 'type: name')}`,
    })

    expect(readDefinition(join(root, 'resize.tsx')).type).toBe('resize')
  })

  it('code that the same options have bundled before, such as the executor of the installed package', () => {
    const root = aProject({
      'node_modules/names/package.json': {},
      'node_modules/names/index.js': "exports.name = require('node:path').basename('a/resize')",
      'source.js': "export { name } from 'names'",
      'resize.ts': aDefinition('resize', "import { name } from './prebuilt.mjs'").replace(
        "type: 'resize'",
        'type: name',
      ),
    })
    const [prebuilt] = bundle('it', {
      ...BUNDLE_OPTIONS,
      sourcemap: false,
      minify: false,
      entryPoints: [join(root, 'source.js')],
      outfile: join(root, 'prebuilt.mjs'),
    }).files
    writeFileSync(join(root, 'prebuilt.mjs'), prebuilt!.contents)

    expect(readDefinition(join(root, 'resize.ts')).type).toBe('resize')
  })

  it('a workspace package in TypeScript, which links another one', () => {
    const root = aProject({
      'package-lock.json': {},
      'packages/names/package.json': { name: '@shop/names', main: 'src/index.ts' },
      'packages/names/src/index.ts': "export { name } from './name'",
      'packages/names/src/name.ts': "export const name: string = 'resize'",
      'packages/tasks/package.json': { name: '@shop/tasks' },
      'packages/tasks/resize.ts': aDefinition('resize', "import { name } from '@shop/names'").replace(
        "type: 'resize'",
        'type: name',
      ),
    })
    link(root, 'packages/tasks/node_modules/@shop/names', 'packages/names')

    expect(readDefinition(join(root, 'packages/tasks/resize.ts')).type).toBe('resize')
  })

  it('a package that stays outside of the bundle, from the folder of its own workspace package', () => {
    const root = aProject({
      'packages/tasks/package.json': {},
      'packages/tasks/node_modules/native/package.json': { type: 'module', exports: './index.js' },
      'packages/tasks/node_modules/native/index.js': "export const where = 'installed'",
      'packages/tasks/node_modules/native/binding.gyp': '{}',
      'packages/tasks/resize.ts': aDefinition(
        'resize',
        "import { where } from 'native'; if (where !== 'installed') throw where",
      ),
    })
    const bundling = { nodeModules: ['native'] }

    expect(readDefinition(join(root, 'packages/tasks/resize.ts'), undefined, bundling).type).toBe('resize')
  })

  it('again when a file that it imports has changed, and nothing generated is left behind', () => {
    const root = aProject({
      'name.ts': "export const name = 'first'",
      'resize.ts': aDefinition('resize', "import { name } from './name'").replace(
        "type: 'resize'",
        'type: name',
      ),
    })
    const entry = join(root, 'resize.ts')
    const before = readDefinition(entry).type
    writeFileSync(join(root, 'name.ts'), "export const name = 'other'")
    utimesSync(join(root, 'name.ts'), 1, 1)

    expect([before, readDefinition(entry).type]).toEqual(['first', 'other'])
    expect(readdirSync(join(root, '.baton', 'loading'))).toEqual([])
  })
})

describe('An entry is refused by file, line and column', () => {
  it.each([
    [
      'that imports what is not there',
      "import './absent'",
      /resize\.ts cannot be bundled: .*resize\.ts:1:8: Could not resolve "\.\/absent"/,
    ],
    ['that is not TypeScript', 'const = 1', /resize\.ts:1:7: Expected identifier but found "="/],
  ])('%s', (_what, code, message) => {
    const root = aProject({ 'resize.ts': aDefinition('resize', code) })

    expect(() => readDefinition(join(root, 'resize.ts'))).toThrow(message)
  })
})

describe('A native package that would be bundled is refused by name', () => {
  const NAMES_IT =
    /resize\.ts: 'native' is a native package, which cannot be bundled; add 'native' to bundling\.nodeModules/

  it.each([
    ['whose machine code it loads', { 'index.js': "require('./a.node')", 'a.node': elf('x64') }],
    ['that is compiled when it is installed', { 'index.js': '', 'binding.gyp': '{}' }],
    ['with builds for several platforms', { 'index.js': '', 'prebuilds/linux-x64/a.node': elf('x64') }],
    [
      'with an optional package per platform',
      {
        'index.js': '',
        'package.json': {
          optionalDependencies: { '@native/darwin-arm64': '1.0.0', '@native/linux-x64': '1.0.0' },
        },
      },
    ],
    [
      'whose machine code it loads by a computed path',
      {
        'index.js': "require(require('node:path').join(__dirname, 'lib', process.platform))",
        'lib/linux/a.node': elf('x64'),
      },
    ],
    [
      'whose machine code another package finds',
      { 'index.js': '', 'package.json': { dependencies: { bindings: '^1.5.0' } } },
    ],
  ])('%s', (_what, files) => {
    const inPackage = Object.entries({ 'package.json': {}, ...files }).map(([path, content]) => [
      `node_modules/native/${path}`,
      content,
    ])
    const root = aProject({
      ...Object.fromEntries(inPackage),
      'resize.ts': aDefinition('resize', "import 'native'"),
    })

    expect(() => readDefinition(join(root, 'resize.ts'))).toThrow(NAMES_IT)
  })

  it('and machine code of the project itself by its path', () => {
    const root = aProject({
      'a.node': elf('x64'),
      'resize.ts': aDefinition('resize', "import './a.node'"),
    })

    expect(() => readDefinition(join(root, 'resize.ts'))).toThrow(
      /a\.node is machine code.*move it to a package/,
    )
  })

  it.each([
    [
      'that it loads by a computed path',
      "require(join(import.meta.dirname, platform() + '.node'))",
      'resize\\.ts',
    ],
    ['that it opens by a computed path', 'process.dlopen(module, folder + "/a.node")', 'resize\\.ts'],
    ['that another package finds', "import find from 'bindings'; find('a')", "'bindings'"],
  ])('and machine code of the project itself %s', (_what, code, name) => {
    const root = aProject({
      'a.node': elf('x64'),
      'node_modules/bindings/package.json': { main: 'index.js' },
      'node_modules/bindings/index.js': 'module.exports = name => require(name)',
      'resize.ts': aDefinition(
        'resize',
        `declare const join, platform, folder; if (join) { ${code} }`,
      ).replace(/^(.*)\{ (import .*; )/, '$2$1{ '),
    })

    expect(() => readDefinition(join(root, 'resize.ts'))).toThrow(
      new RegExp(
        `resize\\.ts: \\S*${name} loads machine code by a path .* add the package to bundling\\.nodeModules`,
      ),
    )
  })

  it('but not a word of a page that ends like the name of such a file', () => {
    const root = aProject({
      'resize.ts': aDefinition(
        'resize',
        "const select = (name: string) => name; select('.node'); select('a.node')",
      ),
    })

    expect(readDefinition(join(root, 'resize.ts')).type).toBe('resize')
  })
})
