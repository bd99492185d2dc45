import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { App } from 'aws-cdk-lib'
import { afterEach, expect, it, vi } from 'vitest'
import { readProject, removeUnfinished, synthesise } from '../../../../cli/dev/synthesis/synthesis.ts'
import { isAlive } from '../../../support/local-system/local-process.ts'

afterEach(() => void vi.unstubAllEnvs())

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

it('the app runs in its folder, with its context and where to write', async () => {
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

const WRITE_ENVIRONMENT = `
import { writeFileSync } from 'node:fs'
writeFileSync(process.env.CDK_OUTDIR + '/manifest.json', JSON.stringify(process.env))
`

/** The environment in which the app of this folder runs. */
async function environmentIn(folder: string): Promise<Record<string, string>> {
  const output = await synthesise(readProject(folder))
  return JSON.parse(readFileSync(join(output, 'manifest.json'), 'utf8'))
}

it('the app gets the local account and region, unless the environment names others', async () => {
  vi.stubEnv('CDK_DEFAULT_ACCOUNT', undefined)
  vi.stubEnv('CDK_DEFAULT_REGION', 'eu-west-1')

  const environment = await environmentIn(anApp(WRITE_ENVIRONMENT))

  expect(environment).toMatchObject({ CDK_DEFAULT_ACCOUNT: '000000000000', CDK_DEFAULT_REGION: 'eu-west-1' })
})

it('a context that is too long for the environment reaches the app by a file', async () => {
  const long = 'ä'.repeat(100_000)
  const environment = await environmentIn(anApp(WRITE_ENVIRONMENT, { context: { long } }))
  for (const name of ['CDK_CONTEXT_JSON', 'CONTEXT_OVERFLOW_LOCATION_ENV'])
    vi.stubEnv(name, environment[name])

  const { node } = new App()

  expect(node.tryGetContext('long')).toBe(long)
  expect(node.tryGetContext('baton:dev')).toBe(true)
})

it('an app that fails is told by its error', async () => {
  const folder = anApp('const a = 1\nthrow new TypeError("no queue")')

  await expect(synthesise(readProject(folder))).rejects.toThrow('app.mjs:2: TypeError: no queue')
})

it('an assembly whose synthesis was killed is removed before the next one', async () => {
  const folder = anApp(`${WRITE}\nsetInterval(() => {}, 1000)`)
  const project = readProject(folder)
  const stopping = new AbortController()
  const manifest = join(folder, '.baton/cdk.out/manifest.json')

  const synthesis = synthesise(project, { signal: stopping.signal, giveWayMs: 5_000 })
  await expect.poll(() => existsSync(manifest)).toBe(true)
  stopping.abort()
  await expect(synthesis).rejects.toThrow('ended with status SIGKILL')
  removeUnfinished(project)

  expect(existsSync(manifest)).toBe(false)
})

/** Writes its priorities as they become known: those of its session, as Linux has them. */
const WATCH_PRIORITY = `
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
let last = ''
setInterval(() => {
  const now = /nice (.+)/.exec(readFileSync('/proc/self/autogroup', 'utf8'))[1]
  if (now !== last) appendFileSync('priorities', now + ' ')
  last = now
  if (existsSync('end')) process.exit()
}, 5)`

const HOUR_MS = 3_600_000

it.runIf(existsSync('/proc/self/autogroup')).each([
  ['gives way to handlers', HOUR_MS, '5'],
  ['gets its full share of a busy machine after a time', 1, '0'],
])('a synthesis in the background %s', async (_what, giveWayMs, priority) => {
  const folder = anApp(WATCH_PRIORITY)
  const priorities = () => readIfThere(join(folder, 'priorities')).trim().split(' ')

  const synthesis = synthesise(readProject(folder), { giveWayMs })

  await expect.poll(() => priorities().at(-1)).toBe(priority)
  writeFileSync(join(folder, 'end'), '')
  await synthesis
})

it('an app whose synthesis is under way ends with the process that asked for it', async () => {
  const folder = anApp(`
    import { writeFileSync } from 'node:fs'
    writeFileSync('pid', String(process.pid))
    setInterval(() => {}, 1000)`)
  const module = JSON.stringify(import.meta.resolve('../../../../cli/dev/synthesis/synthesis.ts'))
  const script = `
    import { readProject, synthesise } from ${module}
    process.on('SIGINT', () => process.exit(130))
    await synthesise(readProject(${JSON.stringify(folder)}))`
  const dev = spawn(process.execPath, ['--input-type=module', '--eval', script])
  const pid = () => Number(readIfThere(join(folder, 'pid')))
  await expect.poll(pid).toBeGreaterThan(0)

  dev.kill('SIGINT')

  expect(await once(dev, 'exit')).toEqual([130, null])
  await expect.poll(() => isAlive(pid())).toBe(false)
})

function readIfThere(file: string): string {
  return existsSync(file) ? readFileSync(file, 'utf8') : ''
}

it('a whole assembly stays: what has not changed is not staged again', async () => {
  const project = readProject(anApp(WRITE))
  const output = await synthesise(project)

  removeUnfinished(project)

  expect(existsSync(join(output, 'manifest.json'))).toBe(true)
})

it.each([
  ['no cdk.json', undefined, 'there is no cdk.json in'],
  ['one that is not JSON', '{', 'is not JSON'],
  ['one without an app', '{"context": {}}', 'must be the command that runs the CDK app'],
])('a folder with %s is refused', (_name, text, message) => {
  const folder = mkdtempSync(join(tmpdir(), 'no-app-'))
  if (text !== undefined) writeFileSync(join(folder, 'cdk.json'), text)

  expect(() => readProject(folder)).toThrow(message)
})
