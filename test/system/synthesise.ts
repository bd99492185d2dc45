import { spawnSync } from 'node:child_process'

export const TEST_ASSEMBLY = '.baton/test-assembly'

/** Synthesises the system under test once for all system tests. */
export function setup(): void {
  synthesise('test/system/app.ts', TEST_ASSEMBLY)
}

/** Writes the assembly of a CDK app. */
export function synthesise(file: string, output: string): void {
  const app = `${process.execPath} ${file}`
  const { status, stderr } = spawnSync('cdk', ['synth', '--quiet', '--app', app, '--output', output], {
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(`the system under test could not be synthesised:\n${stderr}`)
}
