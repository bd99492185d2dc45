import { expect, it } from 'vitest'
import { refuseUnknownInspection } from '../../../cli/dev/running.ts'
import type { System } from '../../../cli/dev/synthesis/systems.ts'

const bundle = { types: ['resize', 'mail'], entry: '', options: {}, nodeModules: [], root: '' }
const system: System = {
  ...{ stackName: 'Shop', assemblyDir: '/out', label: 'Shop', text: '', types: [] },
  handlers: [{ functionId: 'Small', bundle }],
  ownFunctions: new Set(),
}

it.each([
  [undefined, undefined],
  ['resize', undefined],
  ['mail:9230', undefined],
  ['resise', '--inspect names resise, which no handler of the app serves; there are mail, resize'],
  ['resize:0', '--inspect resize:0: the port must be a number from 1 to 65535'],
  ['resize:x', '--inspect resize:x: the port must be a number from 1 to 65535'],
])('--inspect %s is %s', (inspect, message) => {
  const refuse = () => refuseUnknownInspection([system], inspect)

  if (message === undefined) expect(refuse).not.toThrow()
  else expect(refuse).toThrow(message)
})
