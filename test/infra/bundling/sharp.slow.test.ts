import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type UserCode, workerContents, writeContents } from '../../../infra/bundling/bundling.ts'
import { type Cpu, platformOf } from '../../../infra/bundling/native.ts'
import { planModules } from '../../../infra/bundling/node-modules.ts'
import { aFolder } from '../../support/a-folder.ts'
import { aDefinition, aProject } from './a-project.ts'

/** Assets with a real native package, as each package manager installs it. They need a registry. */

const SHARP = '0.35.5'
const CODE =
  "import sharp from 'sharp'; globalThis.made = sharp({ create: { width: 1, height: 1, channels: 3, background: 'red' } })"

/** The machine code in an asset, as `path platform`. */
const machineCodeIn = (asset: string) =>
  readdirSync(asset, { recursive: true, encoding: 'utf8' })
    .filter(file => file.endsWith('.node'))
    .map(file => `${file} ${platformOf(join(asset, file))}`)

function asset(root: string, cpu: Cpu): string {
  const folder = aFolder()
  const definition = { file: join(root, 'resize.ts'), exportName: 'resize', type: 'resize' }
  const code: UserCode = {
    ...{ title: 'resize.ts', name: `sharp-${cpu}`, definitions: [definition], cpu },
    bundling: { nodeModules: ['sharp'] },
  }
  writeContents(folder, workerContents(code)())
  return folder
}

describe.each([
  ['npm', 'package-lock.json', ['npm', 'install', '--ignore-scripts', '--no-audit', '--no-fund']],
  ['pnpm', 'pnpm-lock.yaml', ['npm', 'exec', '--yes', '--', 'pnpm@10.30.3', 'install', '--ignore-scripts']],
  [
    'Yarn',
    'yarn.lock',
    ['npm', 'exec', '--yes', '--', 'yarn@1.22.22', 'install', '--ignore-scripts', '--no-progress'],
  ],
])('An asset with sharp, installed by %s on this machine,', (_manager, lockFile, [command = '', ...args]) => {
  let root: string

  beforeAll(() => {
    root = aProject({
      'package.json': { name: 'shop', version: '1.0.0', dependencies: { sharp: SHARP } },
      'resize.ts': aDefinition('resize', CODE),
    })
    execFileSync(command, args, { cwd: root, stdio: 'pipe' })
    // What another package manager's project has fetched.
    rmSync('.baton/packages', { recursive: true, force: true })
  })

  it.each<Cpu>(['arm64', 'x64'])('holds the Linux build for %s and no other', cpu => {
    const folder = asset(root, cpu)

    expect(existsSync(join(root, lockFile))).toBe(true)
    expect(machineCodeIn(folder)).toEqual([
      expect.stringMatching(new RegExp(`node_modules/@img/sharp-linux-${cpu}/.*\\.node linux-${cpu}$`)),
    ])
    expect(existsSync(join(folder, 'node_modules/@img', `sharp-libvips-linux-${cpu}`))).toBe(true)
  })

  it.runIf(process.platform === 'linux')('loads where this machine is of its platform', () => {
    const folder = asset(root, process.arch as Cpu)
    const script = "const { default: sharp } = await import('sharp'); console.log(typeof sharp)"

    const printed = execFileSync(process.execPath, ['--input-type=module', '--eval', script], { cwd: folder })

    expect(String(printed).trim()).toBe('function')
  })
})

describe('A build for another platform is refused', () => {
  const NAME = '@img/sharp-linux-arm64'
  const native = {
    'node_modules/native/package.json': { version: '1.0.0', optionalDependencies: { [NAME]: '0.34.5' } },
  }
  const plan = (root: string) =>
    planModules({ title: 'resize.ts', names: ['native'], from: root, cpu: 'arm64' })

  beforeEach(() => rmSync('.baton/packages', { recursive: true, force: true }))

  it('when the registry does not answer, and says what needs it', () => {
    const root = aProject({
      ...native,
      '.npmrc': 'registry=http://127.0.0.1:9/\nfetch-retries=0\n',
      'package-lock.json': {},
    })

    expect(() => plan(root)).toThrow(
      /resize\.ts: 'native' needs @img\/sharp-linux-arm64@0\.34\.5 for the function's platform, .*could not be fetched \(npm error/,
    )
  })

  it('when it differs from the lock file', () => {
    const locked = { version: '0.34.5', integrity: 'sha512-other==' }
    const packages = { [`node_modules/${NAME}`]: locked }
    const root = aProject({ ...native, 'package-lock.json': JSON.stringify({ packages }, undefined, 1) })

    expect(() => plan(root)).toThrow(/and the lock file has sha512-other==/)
  })
})
