import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readDevRecord } from '../../cli/dev/command/dev-record.ts'
import { LOCAL_CREDENTIALS } from '../../local/account.ts'
import { freshDashboard } from '../../scripts/build/dashboard.ts'
import { aFolder } from '../support/a-folder.ts'
import { anAws, type FakeAws } from '../support/cli/an-aws.ts'
import { systemOutputs } from '../support/cli/aws-xml.ts'
import { examplesInProcesses } from '../support/cli/help-examples.ts'
import { type DevProcess, startDevProcess } from '../support/dev/dev-process.ts'
import { aShop, aTask, type Shop } from '../support/dev/shop.ts'

/** The examples of the help that need a process: in a project, next to its `baton dev`, as a user calls them. */

let shop: Shop
let dev: DevProcess
let aws: FakeAws
let environment: Readonly<Record<string, string | undefined>>
/** The credentials that CloudFormation knows. The credentials of a worker of the local system have a session token. */
let signer: { readonly secretAccessKey: string; readonly sessionToken?: string } = LOCAL_CREDENTIALS

beforeAll(async () => {
  await freshDashboard()
  shop = aShop({
    'tasks/resize.ts': aTask('resize', "throw new Error('no picture')", 'retry: { maxRetries: 0 },'),
  })
  dev = await startDevProcess(shop.folder)
  aws = await anAws(() => signer)
  const { environment: own = {} } = readDevRecord(dev.url) ?? {}
  const names = {
    TableName: own.BATON_TABLE,
    SystemName: own.BATON_SYSTEM,
    WakeQueueUrl: own.BATON_WAKE_QUEUE_URL,
  }
  const outputs = { ...systemOutputs('Shop', dev.url), ...names, JobsQueueUrl: own.BATON_JOBS_QUEUE_URL }
  aws.stacks.Shop = { outputs: outputs as Record<string, string> }
  const config = join(aFolder(), 'config')
  const { accessKeyId, secretAccessKey } = LOCAL_CREDENTIALS
  writeFileSync(
    config,
    `[profile live]\nregion = us-east-1\naws_access_key_id = ${accessKeyId}\naws_secret_access_key = ${secretAccessKey}\n`,
  )
  const endpoints = Object.entries(own).filter(([name]) => !name.startsWith('BATON_'))
  environment = {
    ...Object.fromEntries(endpoints),
    ...{ BATON_URL: dev.url, AWS_CONFIG_FILE: config, AWS_ENDPOINT_URL_CLOUDFORMATION: aws.url, PORT: '0' },
  }
})

afterAll(async () => {
  await dev?.stop()
  await aws?.stop()
})

/** Starts a line of the shell in a folder, in which `baton` is the command. Its output is one text. */
function start(line: string, folder: string) {
  const command = line.replace(/^baton /, `exec "${process.execPath}" "${resolve('cli/program/baton.ts')}" `)
  const PATH = [dirname(process.execPath), process.env.PATH].join(delimiter)
  const child = spawn('bash', ['-c', command], {
    cwd: folder,
    env: { ...process.env, ...environment, PATH },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ended = once(child, 'close')
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', text => (output += text))
  return { child, ended, output: () => output }
}

async function outputWhen({ child, output }: ReturnType<typeof start>, shows: RegExp): Promise<void> {
  await expect
    .poll(() => isOver(child) || shows.test(output()), { message: `the output shows ${shows}` })
    .toBe(true)
  expect(output()).toMatch(shows)
}

function isOver({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null
}

/** What each endless example shows before it is interrupted, and the code with which it ends then. */
const ENDLESS: Readonly<Record<string, readonly [shows: RegExp, code: number]>> = {
  'baton events': [/task .*failed .*resize:/, 130],
  'baton events --type task.failed --task-type resize --json': [/"type":"task\.failed".*"resize"/, 130],
  'baton dashboard': [/the dashboard of http:\S+: http:\/\/127\.0\.0\.1:\d+\/\?secret=/, 130],
  'baton dashboard --stack Shop --profile live --read-only': [
    /the dashboard of Shop in us-east-1, read-only: http:\/\/127\.0\.0\.1:\d+\/\?secret=/,
    130,
  ],
  'baton worker tasks/video.ts --concurrency 10': [/serves video/, 0],
  'baton worker tasks/video.ts --stack Shop': [/serves video/, 0],
  'baton dev': [/A worker of your own/, 0],
  'baton dev --port 8080 --data .baton/state': [/A worker of your own/, 0],
}

describe('an example that never ends', () => {
  it.each(Object.entries(ENDLESS))('%s', async (example, [shows, code]) => {
    // A second `baton dev` in the same project is refused. Fixed ports may be taken on the machine of the tests.
    const isDev = example.startsWith('baton dev')
    const folder = isDev ? aShop().folder : shop.folder
    const { AWS_SESSION_TOKEN: sessionToken = '' } = environment
    signer = example.includes('worker') ? { ...LOCAL_CREDENTIALS, sessionToken } : LOCAL_CREDENTIALS
    const running = start(example.replace('--port 8080', '--port 0'), folder)
    const publishing = example.startsWith('baton events') ? publishUntilStopped() : undefined
    await outputWhen(running, shows)
    await publishing?.stop()
    running.child.kill('SIGINT')

    expect((await running.ended)[0]).toBe(code)
    expect(running.output()).not.toMatch(/^ +at /m)
  })
})

/** Publishes tasks that fail, so that events keep happening. */
function publishUntilStopped(): { stop(): Promise<void> } {
  let isOver = false
  const work = (async () => {
    for (let nth = 0; !isOver; nth++) await dev.run('resize', `event-${nth}-${Math.random()}`)
  })()
  return {
    stop: () => {
      isOver = true
      return work
    },
  }
}

describe('an example that ends', () => {
  it('baton init my-app', async () => {
    const folder = aFolder()
    const { ended, output } = start('baton init my-app', folder)

    expect([await ended, output()]).toEqual([[0, null], expect.stringContaining('my-app')])
    expect(readdirSync(join(folder, 'my-app'))).toContain('package.json')
  })

  const completions = examplesInProcesses.filter(example => example.startsWith('baton completion'))

  it.each(completions)('%s', async example => {
    const folder = aFolder()
    const [call = ''] = example.split(' > ')
    const { ended, output } = start(`${call} > script`, folder)

    expect([await ended, output()]).toEqual([[0, null], ''])
    expect(readFileSync(join(folder, 'script'), 'utf8')).toContain('dead-letters')
  })

  it('is among these, or never ends', () => {
    const known = [...Object.keys(ENDLESS), ...completions, 'baton init my-app']

    expect(examplesInProcesses.toSorted()).toEqual(known.toSorted())
    expect(existsSync('my-app')).toBe(false)
  })
})
