import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'

/** Where the projects and processes of this run of the tests find the assembly; another run has its own. */
const ASSEMBLY = 'BATON_TEST_ASSEMBLY'

/** Synthesises the system under test once for all system tests; each of their projects asks for it. */
export function setup(): (() => void) | undefined {
  if (process.env[ASSEMBLY]) return
  mkdirSync('.baton', { recursive: true })
  const folder = mkdtempSync('.baton/test-assembly-')
  process.env[ASSEMBLY] = folder
  synthesise('test/system/app.ts', folder)
  return () => rmSync(folder, { recursive: true, force: true })
}

/** The folder of the assembly of the system under test. */
export function testAssembly(): string {
  return process.env[ASSEMBLY] ?? ''
}

/** Writes the assembly of a CDK app. */
export function synthesise(file: string, output: string): void {
  const app = `${process.execPath} ${file}`
  const { status, stderr } = spawnSync('cdk', ['synth', '--quiet', '--app', app, '--output', output], {
    encoding: 'utf8',
    // The template of the shipped app is validated elsewhere; it takes a third of the time.
    env: { ...process.env, CDK_VALIDATION: 'false' },
  })
  if (status !== 0) throw new Error(`the system under test could not be synthesised:\n${stderr}`)
}
