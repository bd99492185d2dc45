import { describe } from 'vitest'
import { aLocalSystem } from '../../support/local-system/local-system.ts'
import { arithmeticTests } from './one-file.ts'

describe('in memory', () => arithmeticTests(() => undefined))

describe('against the local system', () => {
  const system = aLocalSystem()

  arithmeticTests(() => system.cloud.apiUrl)
})
