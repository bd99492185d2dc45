import { once } from 'node:events'
import { chmodSync, mkdtempSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { refuseWithoutRequirements } from '../../../cli/dev/requirements.ts'

const { PATH } = process.env
afterEach(() => {
  process.env.PATH = PATH
})

/** Puts a `java` on the PATH that says it has this version. */
function aJava(version: string): void {
  const folder = mkdtempSync(join(tmpdir(), 'java-'))
  writeFileSync(join(folder, 'java'), `#!/bin/sh\necho 'openjdk version "${version}" 2025-01-01' >&2\n`)
  chmodSync(join(folder, 'java'), 0o755)
  process.env.PATH = folder + (PATH ? `:${PATH}` : '')
}

it('a taken port is refused in one line that names another way', async () => {
  aJava('17.0.1')
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo

  await expect(refuseWithoutRequirements({ port })).rejects.toMatchObject({
    code: 'misconfigured',
    message: `port ${port} is taken; choose another with --port, or 0 for any`,
  })
  server.close()
})

it('an old Java and a missing one are refused with what to install', async () => {
  aJava('11.0.2')
  await expect(refuseWithoutRequirements({ port: 0 })).rejects.toThrow(
    /^DynamoDB Local needs Java 17 or later, and 'java' on the PATH is version 11: .*install/,
  )

  process.env.PATH = mkdtempSync(join(tmpdir(), 'empty-'))
  await expect(refuseWithoutRequirements({ port: 0 })).rejects.toThrow(
    /there is no 'java' on the PATH: .*install/,
  )
})

it('a data folder that cannot be used is refused', async () => {
  aJava('21')
  const file = join(mkdtempSync(join(tmpdir(), 'data-')), 'file')
  writeFileSync(file, '')

  await expect(refuseWithoutRequirements({ port: 0, data: join(file, 'data') })).rejects.toThrow(
    'cannot be used',
  )
})

it('a machine with all of it is accepted', async () => {
  aJava('21.0.4')

  await expect(refuseWithoutRequirements({ port: 0 })).resolves.toBeUndefined()
})
