import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { startSandbox } from '../../../local/functions/sandbox.ts'
import { aFolder } from '../../support/a-folder.ts'

/** Starts a function of this code outside of every project, and returns why it could not be loaded. */
async function loadErrorOf(code: string) {
  const codeDir = aFolder()
  writeFileSync(join(codeDir, 'index.js'), code)
  const names = { logicalId: 'Fn', name: 'Fn', arn: 'arn:aws:lambda:us-east-1:000000000000:function:Fn' }
  const bounds = { timeoutMs: 60_000, memoryMb: 128, environment: {} }
  const sandbox = startSandbox(
    { ...names, ...bounds, codeDir, compileCacheDir: codeDir, handler: 'index.handler' },
    () => undefined,
  )
  const error = await sandbox.started
  sandbox.kill()
  await sandbox.ended
  return error
}

describe("the SDK of Lambda's runtime", () => {
  it.each([
    ['required', "const { SQSClient } = require('@aws-sdk/client-sqs')"],
    ['imported', "await import('@aws-sdk/client-sqs').then(({ SQSClient }) => new SQSClient({}))"],
  ])('is there for code without a bundle: %s', async (_how, code) => {
    const load = code.startsWith('await') ? `;(async () => { ${code} })()` : code

    expect(await loadErrorOf(`${load}\nexports.handler = async () => 'done'`)).toBeUndefined()
  })

  it('is missing by name where no package of it is installed, with what to install', async () => {
    const error = await loadErrorOf(
      "require('@aws-sdk/client-absent/commands')\nexports.handler = async () => 1",
    )

    expect(error?.errorMessage).toContain(
      "'@aws-sdk/client-absent' is not installed here. On AWS the SDK of Lambda's",
    )
    expect(error?.errorMessage).toContain('npm install --save-dev @aws-sdk/client-absent')
  })

  it('is not named when another package is missing', async () => {
    const error = await loadErrorOf("require('absent')\nexports.handler = async () => 1")

    expect(error?.errorMessage).toContain("Cannot find module 'absent'")
    expect(error?.errorMessage).not.toContain('SDK')
  })
})
