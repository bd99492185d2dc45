import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { TestProject } from 'vitest/node'

/** Where the projects and processes of this run of the tests find the assembly; another run has its own. */
const ASSEMBLY = 'BATON_TEST_ASSEMBLY'
/** Says that the synthesis has ended, and why it failed: empty if it did not. */
const ENDED = 'synthesis-has-ended'
const POLL_MS = 50

/**
 * Synthesises the system under test once for all system tests; each of their projects asks for it. The synthesis goes on
 * beside the first tests, since it keeps one core busy. `testAssembly` waits for its end. The benchmark begins after it.
 */
export async function setup({ name }: TestProject): Promise<(() => Promise<void>) | undefined> {
  if (process.env[ASSEMBLY]) return
  mkdirSync('.baton', { recursive: true })
  const folder = mkdtempSync('.baton/test-assembly-')
  process.env[ASSEMBLY] = folder
  const synthesis = synthesise('test/system/app.ts', folder).then(
    () => tellEnd(folder, ''),
    cause => tellEnd(folder, String(cause)),
  )
  if (name === 'bench') await synthesis
  return async () => {
    await synthesis
    rmSync(folder, { recursive: true, force: true })
  }
}

/** In one step, so that no test reads a half-written file. */
function tellEnd(folder: string, problem: string): void {
  const file = join(folder, ENDED)
  writeFileSync(`${file}.next`, problem)
  renameSync(`${file}.next`, file)
}

/** The folder of the assembly of the system under test, once it is complete. */
export async function testAssembly(): Promise<string> {
  const folder = process.env[ASSEMBLY] ?? ''
  const file = join(folder, ENDED)
  while (!existsSync(file)) await sleep(POLL_MS)
  const problem = readFileSync(file, 'utf8')
  if (problem !== '') throw new Error(problem)
  return folder
}

/**
 * Writes the assembly of a CDK app, as `cdk synth` does. The app runs without the `cdk` command, which would cost two
 * seconds of the processor and give the same files.
 */
export async function synthesise(file: string, output: string): Promise<void> {
  const { context } = JSON.parse(readFileSync('cdk.json', 'utf8')) as { context: object }
  const app = spawn(process.execPath, [file], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: {
      ...process.env,
      // The template of the shipped app is validated elsewhere; it takes a third of the time.
      CDK_VALIDATION: 'false',
      CDK_OUTDIR: output,
      CDK_CONTEXT_JSON: JSON.stringify({
        ...context,
        'aws:cdk:enable-path-metadata': true,
        'aws:cdk:enable-asset-metadata': true,
      }),
    },
  })
  let errors = ''
  app.stderr.on('data', chunk => {
    errors += chunk
  })
  const status = await new Promise<number | null>(resolve => app.once('close', resolve))
  if (status !== 0) throw new Error(`the system under test could not be synthesised:\n${errors}`)
}
