import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { TestProject } from 'vitest/node'

/** The variable with the folder of the assembly, for the projects and processes of one test run. */
const ASSEMBLY_VARIABLE = 'BATON_TEST_ASSEMBLY'
/** The file that shows that the synthesis has ended. It contains why the synthesis failed, or is empty. */
const END_FILE = 'synthesis-has-ended'
const POLL_MS = 50

/**
 * Synthesises the system under test once for all system tests; each of their projects asks for it. The synthesis keeps only one core
 * busy, so it continues next to the first tests. `testAssembly` waits for its end. The benchmark begins after it.
 */
export async function setup({ name }: TestProject): Promise<(() => Promise<void>) | undefined> {
  if (process.env[ASSEMBLY_VARIABLE]) return
  mkdirSync('.baton', { recursive: true })
  const folder = mkdtempSync('.baton/test-assembly-')
  process.env[ASSEMBLY_VARIABLE] = folder
  const synthesis = synthesise('test/system/app.ts', folder).then(
    () => recordEnd(folder, ''),
    cause => recordEnd(folder, String(cause)),
  )
  if (name === 'bench') await synthesis
  return async () => {
    await synthesis
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Writes the file that shows the end. The file is renamed into place, so that no test reads a half-written one. */
function recordEnd(folder: string, problem: string): void {
  const file = join(folder, END_FILE)
  writeFileSync(`${file}.next`, problem)
  renameSync(`${file}.next`, file)
}

/** The folder of the assembly of the system under test, once it is complete. */
export async function testAssembly(): Promise<string> {
  const folder = process.env[ASSEMBLY_VARIABLE] ?? ''
  const file = join(folder, END_FILE)
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
