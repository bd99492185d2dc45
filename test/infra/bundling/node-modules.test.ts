import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Cpu } from '../../../infra/bundling/native.ts'
import { copyModule, planModules } from '../../../infra/bundling/node-modules.ts'
import { lockedIntegrity } from '../../../infra/bundling/places.ts'
import type { Content } from '../../support/a-folder.ts'
import { aFolder } from '../../support/a-folder.ts'
import { aProject, elf, installed, link, MACH_O } from './a-project.ts'

const plan = (from: string, ...names: string[]) =>
  planModules({ title: 'resize.ts', names, from, cpu: 'arm64' })

/** The folders in the asset with the versions in them. */
const placed = (from: string, name: string, cpu: Cpu = 'arm64') =>
  Object.fromEntries(
    planModules({ title: 'resize.ts', names: [name], from, cpu }).map(({ path, package: one }) => [
      path,
      one.manifest.version,
    ]),
  )

describe('The modules of an asset', () => {
  it('are all that the named package needs, and what it wants of the platform that is installed', () => {
    const root = aProject(
      installed({
        a: {
          dependencies: { b: '^2.0.0' },
          optionalDependencies: { absent: '^1.0.0', there: '^1.0.0' },
          peerDependencies: { peer: '*', 'absent-peer': '*' },
        },
        b: { version: '2.1.0' },
        there: {},
        peer: { version: '3.0.0' },
        other: {},
      }),
    )

    expect(placed(root, 'a')).toEqual({
      'node_modules/a': '1.0.0',
      'node_modules/b': '2.1.0',
      'node_modules/peer': '3.0.0',
      'node_modules/there': '1.0.0',
    })
  })

  it('keep a second version of a package below the package that needs it', () => {
    const root = aProject(
      installed({
        a: { dependencies: { b: '1', '@s/c': '1' } },
        b: { dependencies: { a: '1' } },
        '@s/c': { dependencies: { b: '2' } },
        '@s/c/node_modules/b': { version: '2.0.0', dependencies: { d: '1' } },
        d: {},
      }),
    )

    expect(placed(root, 'a')).toEqual({
      'node_modules/a': '1.0.0',
      'node_modules/b': '1.0.0',
      'node_modules/@s/c': '1.0.0',
      'node_modules/@s/c/node_modules/b': '2.0.0',
      'node_modules/d': '1.0.0',
    })
  })

  it('are found through the links of pnpm', () => {
    const root = aProject(
      installed({
        '.pnpm/a@1.0.0/node_modules/a': { dependencies: { b: '1' } },
        '.pnpm/b@1.0.0/node_modules/b': {},
      }),
    )
    link(root, 'node_modules/a', 'node_modules/.pnpm/a@1.0.0/node_modules/a')
    link(root, 'node_modules/.pnpm/a@1.0.0/node_modules/b', 'node_modules/.pnpm/b@1.0.0/node_modules/b')

    expect(Object.keys(placed(root, 'a'))).toEqual(['node_modules/a', 'node_modules/b'])
  })

  describe('leave out an installed peer that the package can do without', () => {
    const queries = {
      ...installed({
        queries: {
          peerDependencies: { driver: '*', deployer: '*', needed: '*' },
          peerDependenciesMeta: { driver: { optional: true }, deployer: { optional: true } },
        },
        driver: { dependencies: { wire: '1' } },
        wire: {},
        deployer: {},
        needed: {},
      }),
      'package.json': { name: 'shop', devDependencies: { deployer: '1' } },
    }

    it('and that is there for the development of the project only', () => {
      expect(Object.keys(placed(aProject(queries), 'queries'))).toEqual([
        'node_modules/needed',
        'node_modules/queries',
      ])
    })

    it.each([
      ['the project', 'package.json'],
      ['its part of the workspace', 'services/package.json'],
    ])('unless %s depends on it', (_whose, manifest) => {
      const root = aProject({ ...queries, [manifest]: { dependencies: { driver: '1' } } })

      expect(Object.keys(placed(join(root, 'services'), 'queries'))).toEqual([
        'node_modules/driver',
        'node_modules/needed',
        'node_modules/queries',
        'node_modules/wire',
      ])
    })

    it('unless it is listed next to the package', () => {
      const modules = plan(aProject(queries), 'queries', 'deployer')

      expect(modules.map(({ path }) => path)).toEqual([
        'node_modules/deployer',
        'node_modules/needed',
        'node_modules/queries',
      ])
    })
  })

  const BUILDS = {
    optionalDependencies: { '@n/darwin-arm64': '1.0.0', '@n/linux-arm64': '1.0.0', '@n/linux-x64': '1.0.0' },
  }
  const build = (name: string, os: string, cpu: string, code: Buffer) => ({
    ...installed({ [`@n/${name}`]: { os: [os], cpu: [cpu] } }),
    [`node_modules/@n/${name}/a.node`]: code,
  })

  it.each<[Cpu, string]>([
    ['arm64', 'node_modules/@n/linux-arm64'],
    ['x64', 'node_modules/@n/linux-x64'],
  ])('contain the build for Linux on %s and no other', (cpu, expected) => {
    const root = aProject({
      ...installed({ native: BUILDS }),
      ...build('darwin-arm64', 'darwin', 'arm64', MACH_O),
      ...build('linux-arm64', 'linux', 'arm64', elf('arm64')),
      ...build('linux-x64', 'linux', 'x64', elf('x64')),
    })

    expect(Object.keys(placed(root, 'native', cpu))).toEqual([expected, 'node_modules/native'].sort())
  })

  it('leave out machine code for other platforms, and what an optional package was compiled for elsewhere', () => {
    const root = aProject({
      ...installed({
        native: { optionalDependencies: { faster: '1' } },
        'native/node_modules/nested': {},
        faster: {},
      }),
      'node_modules/native/prebuilds/linux-arm64/a.node': elf('arm64'),
      'node_modules/native/prebuilds/linux-x64/a.node': elf('x64'),
      'node_modules/native/prebuilds/darwin-arm64/a.node': MACH_O,
      'node_modules/faster/build/Release/a.node': elf('x64'),
    })
    const asset = aFolder()
    const isThere = (path: string) => existsSync(join(asset, 'node_modules/native', path))

    const planned = plan(root, 'native')
    for (const module of planned) copyModule(asset, module, 'arm64')

    expect(planned.map(({ path }) => path)).toEqual(['node_modules/native'])
    expect(
      ['linux-arm64', 'linux-x64', 'darwin-arm64'].map(one => isThere(`prebuilds/${one}/a.node`)),
    ).toEqual([true, false, false])
    expect([isThere('index.js'), isThere('node_modules')]).toEqual([true, false])
  })
})

describe('A module is refused', () => {
  it.each<[string, Readonly<Record<string, Content>>, RegExp]>([
    [
      'that was compiled for another processor',
      { 'build/Release/a.node': elf('x64') },
      /the native package 'native' has no build for linux-arm64, the function's platform: build\/Release\/a\.node is for linux-x64/,
    ],
    [
      'that was compiled for macOS',
      { 'build/Release/a.node': MACH_O },
      /build\/Release\/a\.node is for darwin\. Set 'architecture'/,
    ],
    [
      'that was not compiled at all',
      { 'binding.gyp': '{}' },
      /'native' has no build for linux-arm64.* it has no machine code where it is installed/,
    ],
    [
      'that needs a package that is not installed',
      { 'package.json': { version: '1.0.0', dependencies: { absent: '1' } } },
      /resize\.ts: 'native' needs 'absent', which is not installed/,
    ],
  ])('%s', (_what, files, message) => {
    const own = Object.entries(files).map(([path, content]) => [`node_modules/native/${path}`, content])
    const root = aProject({ ...installed({ native: {} }), ...Object.fromEntries(own) })

    expect(() => plan(root, 'native')).toThrow(message)
  })

  it('that is not installed', () => {
    expect(() => plan(aProject({}), 'native')).toThrow(
      /resize\.ts: bundling\.nodeModules\.0 is 'native', which is not installed/,
    )
  })
})

describe('The locked content of a package is read from the lock file of', () => {
  it.each([
    [
      'npm',
      '"node_modules/@n/linux-x64": {\n  "version": "1.0.0",\n  "cpu": ["x64"],\n  "integrity": "sha512-abc=="\n},\n"node_modules/@n/other": {}',
    ],
    ['pnpm', "  '@n/linux-x64@1.0.0':\n    resolution: {integrity: sha512-abc==}\n    cpu: [x64]\n"],
    [
      'Yarn 1',
      '"@n/linux-x64@1.0.0":\n  version "1.0.0"\n  resolved "https://…"\n  integrity sha512-abc==\n',
    ],
  ])('%s', (_manager, text) => {
    expect(lockedIntegrity(text, '@n/linux-x64', '1.0.0')).toBe('sha512-abc==')
    expect(lockedIntegrity(text, '@n/linux-x64', '1.0.1')).toBeUndefined()
  })
})
