import { afterAll, beforeAll, describe } from 'vitest'
import { type LocalSystem, startLocalSystem } from '../../support/local-system/local-system.ts'
import { arithmeticTests } from './one-file.ts'

describe('in memory', () => arithmeticTests(() => undefined))

describe('against the local system', () => {
  let system: LocalSystem

  beforeAll(async () => {
    system = await startLocalSystem()
  })
  afterAll(() => system.stop())

  arithmeticTests(() => system.cloud.apiUrl)
})
