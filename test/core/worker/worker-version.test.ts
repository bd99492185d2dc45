import { expect, it } from 'vitest'
import { versionSuffices } from '../../../shared/core/worker.ts'

it.each([
  [undefined, undefined, true],
  ['0.0.1', undefined, true],
  [undefined, '1', false],
  ['1.4.0', '1.4.0', true],
  ['1.4', '1.4.0', true],
  ['1.4.0', '1.4', true],
  ['1.10.0', '1.9.9', true],
  ['1.9.9', '1.10.0', false],
  ['2', '1.99.99', true],
  ['1.4.0.1', '1.4.0', true],
  ['1.3.9', '1.4', false],
])('a worker of version %s suffices for a minimum of %s: %s', (version, minimum, suffices) => {
  expect(versionSuffices(version, minimum)).toBe(suffices)
})
