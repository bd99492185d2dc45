import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { App } from 'aws-cdk-lib'
import { afterEach, expect, it, vi } from 'vitest'
import {
  appProblem,
  readProject,
  removeUnfinished,
  synthesise,
} from '../../../../cli/dev/synthesis/synthesis.ts'
import { aFolder } from '../../../support/a-folder.ts'
import { isAlive } from '../../../support/local-system/local-process.ts'

afterEach(() => void vi.unstubAllEnvs())

/** An app that is a script: it gets what a CDK app gets. */
function anApp(script: string, more: object = {}): string {
  return aFolder({ 'app.mjs': script, 'cdk.json': { app: `"${process.execPath}" app.mjs`, ...more } })
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

it('an app that fails is named by its error', async () => {
  const folder = anApp('const a = 1\nthrow new TypeError("no queue")')

  await expect(synthesise(readProject(folder))).rejects.toThrow('app.mjs:2: TypeError: no queue')
})

it('an assembly whose synthesis was killed is removed before the next one', async () => {
  const folder = anApp(`${WRITE}\nsetInterval(() => {}, 1000)`)
  const project = readProject(folder)
  const stopping = new AbortController()
  const manifest = join(folder, '.baton/cdk.out/manifest.json')

  const synthesis = synthesise(project, { signal: stopping.signal, lowPriorityMs: 5_000 })
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
  ['runs at a lower priority than handlers', HOUR_MS, '5'],
  ['gets its full share of a busy machine after a time', 1, '0'],
])('a synthesis in the background %s', async (_what, lowPriorityMs, priority) => {
  const folder = anApp(WATCH_PRIORITY)
  const priorities = () => readIfThere(join(folder, 'priorities')).trim().split(' ')

  const synthesis = synthesise(readProject(folder), { lowPriorityMs })

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
  const folder = aFolder(text === undefined ? {} : { 'cdk.json': text })

  expect(() => readProject(folder)).toThrow(message)
})

const project = { app: 'node app.ts', folder: '/projects/shop' }
const problem = (text: string) => appProblem(text, project, 1)

it('an error of the app is one line with its place in the project', () => {
  const text = `
/projects/shop/infra/app.ts:7
    new Queue(undefined, 'Q')
    ^

TypeError: Cannot read properties of undefined (reading 'node')
    at new Queue (/projects/shop/node_modules/aws-cdk-lib/aws-sqs/lib/queue.js:1:6543)
    at file:///projects/shop/infra/app.ts:7:5
    at ModuleJob.run (node:internal/modules/esm/module_job:329:25)

Node.js v24.1.0
`

  expect(problem(text)).toBe(
    "infra/app.ts:7: TypeError: Cannot read properties of undefined (reading 'node')",
  )
})

it('an error of a package is placed where the project called it', () => {
  const text = `
Error: boom
    at new Queue (/projects/shop/node_modules/aws-cdk-lib/aws-sqs/lib/queue.js:1:6543)
    at new Shop (/projects/shop/infra/shop.ts:12:18)
`

  expect(problem(text)).toBe('infra/shop.ts:12:18: Error: boom')
})

it("an error of Baton's says itself where it is", () => {
  const text = `
BatonError: tasks/resize.ts:12:4: Expected ";" but found "}"
    at build (/projects/shop/node_modules/baton-tasks/infra/bundling/esbuild.js:1:1)
    at file:///projects/shop/infra/app.ts:7:5
  code: 'invalid'
`

  expect(problem(text)).toContain('tasks/resize.ts:12:4: Expected ";" but found "}"')
  expect(problem(text)).not.toContain('BatonError')
})

it('a message of several lines stays whole', () => {
  const text =
    'ValidationError: Validation failed with the following errors:\n  [Shop/Tasks] 500 resources\n    at a (/x/y.js:1:1)\n'

  expect(problem(text)).toBe(
    'ValidationError: Validation failed with the following errors:\n  [Shop/Tasks] 500 resources',
  )
})

it('without an error that can be recognised, the end of the output is shown', () => {
  expect(problem('first\nsh: 1: nod: not found\n')).toBe(
    'the app (node app.ts) ended with status 1\nfirst\nsh: 1: nod: not found',
  )
})

it('without Docker one line names the construct that needs it', () => {
  const text = `
Error: Failed to bundle asset Shop/Thumbnails/Code/Stage, bundle output is located at /x: Error: spawnSync docker ENOENT
    at new AssetStaging (/projects/shop/node_modules/aws-cdk-lib/core/lib/asset-staging.js:1:1)
    at file:///projects/shop/infra/app.ts:7:5
`

  expect(problem(text)).toBe(
    "Shop/Thumbnails/Code/Stage is bundled in a container, and Docker does not work here: start Docker, or give its bundling a 'local' way",
  )
})
