import { existsSync, mkdtempSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readProject } from '../../../../cli/dev/synthesis/project.ts'
import { removeUnfinished, synthesise } from '../../../../cli/dev/synthesis/synthesis.ts'

/** An app that is a script: it gets what a CDK app gets. */
function anApp(script: string, more: object = {}): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'app-')))
  writeFileSync(join(folder, 'app.mjs'), script)
  writeFileSync(join(folder, 'cdk.json'), JSON.stringify({ app: `"${process.execPath}" app.mjs`, ...more }))
  return folder
}

const WRITE = `
import { writeFileSync } from 'node:fs'
const { CDK_OUTDIR, CDK_CONTEXT_JSON } = process.env
writeFileSync(CDK_OUTDIR + '/manifest.json', CDK_CONTEXT_JSON)
`

test('the app runs in its folder, with its context and where to write', async () => {
  const folder = anApp(WRITE, { context: { stage: 'dev', kept: 1 } })
  writeFileSync(join(folder, 'cdk.context.json'), '{"vpc-provider:x": {"vpcId": "vpc-1"}}')

  const output = await synthesise(readProject(folder))

  expect(output).toBe(join(folder, '.baton', 'cdk.out'))
  expect(JSON.parse(readFileSync(join(output, 'manifest.json'), 'utf8'))).toEqual({
    stage: 'dev',
    kept: 1,
    'vpc-provider:x': { vpcId: 'vpc-1' },
    'aws:cdk:enable-path-metadata': true,
    'aws:cdk:enable-asset-metadata': true,
    'baton:dev': true,
  })
})

test('an app that fails is told by its error', async () => {
  const folder = anApp('const a = 1\nthrow new TypeError("no queue")')

  await expect(synthesise(readProject(folder))).rejects.toThrow('app.mjs:2: TypeError: no queue')
})

test('an assembly whose synthesis was killed is removed before the next one', async () => {
  const folder = anApp(`${WRITE}\nsetInterval(() => {}, 1000)`)
  const project = readProject(folder)
  const stopping = new AbortController()
  const manifest = join(folder, '.baton/cdk.out/manifest.json')

  const synthesis = synthesise(project, { signal: stopping.signal, inBackground: true })
  await expect.poll(() => existsSync(manifest)).toBe(true)
  stopping.abort()
  await expect(synthesis).rejects.toThrow('ended with status SIGKILL')
  removeUnfinished(project)

  expect(existsSync(manifest)).toBe(false)
})

test('a whole assembly stays: what has not changed is not staged again', async () => {
  const project = readProject(anApp(WRITE))
  const output = await synthesise(project)

  removeUnfinished(project)

  expect(existsSync(join(output, 'manifest.json'))).toBe(true)
})

test.each([
  ['no cdk.json', undefined, 'there is no cdk.json in'],
  ['one that is not JSON', '{', 'is not JSON'],
  ['one without an app', '{"context": {}}', 'must be the command that runs the CDK app'],
])('a folder with %s is refused', (_name, text, message) => {
  const folder = mkdtempSync(join(tmpdir(), 'no-app-'))
  if (text !== undefined) writeFileSync(join(folder, 'cdk.json'), text)

  expect(() => readProject(folder)).toThrow(message)
})
