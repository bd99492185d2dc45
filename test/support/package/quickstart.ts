import { type ChildProcess, spawn } from 'node:child_process'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { machineEnvironment } from './a-project.ts'
import { aStarter, type Installation, type Starter } from './starter.ts'

/**
 * The first hour of a user as tests: the starter, its checks and tests, a synthesis, `baton dev`, a task by curl and one by the
 * client, and an edited handler. `more` adds tests that need no second way.
 */
export function describeQuickstart(
  title: string,
  way: Installation,
  more?: (starter: () => Starter) => void,
): void {
  describe(`the quickstart ${title}`, () => {
    let starter: Starter

    beforeAll(async () => {
      starter = await aStarter(way)
    })

    it('type-checks', () => {
      starter.script('check')
    })

    it('passes its tests', () => {
      starter.script('test')
    })

    it('synthesises with the command of CDK', () => {
      starter.script('synth')

      expect(starter.read('cdk.out/manifest.json')).toContain('aws:cloudformation:stack')
    })

    describeDev(() => starter)
    more?.(() => starter)
  })
}

function describeDev(starter: () => Starter): void {
  describe('under baton dev', () => {
    let dev: Running | undefined

    afterAll(() => dev?.stop())

    it('runs a task that is published with curl and one of the client, and then an edited handler', async () => {
      dev = start(starter(), 'baton', 'dev', '--port', '0')
      const url = await dev.wrote(/http:\/\/[\w.]+:\d+/)

      publish(starter(), url, 'first', { name: 'Ada' })
      expect(resultOf(starter(), url, 'welcome:first')).toMatchObject(greeting('Ada'))

      expect(resultOfPublishing(starter(), url, 'second', { name: 'Grace' })).toMatchObject(greeting('Grace'))

      const source = starter().read('tasks/welcome.ts')
      starter().write({ 'tasks/welcome.ts': source.replace(/greeting: /, 'edited: true, greeting: ') })
      let attempt = 0
      const next = () => {
        const key = `again-${attempt++}`
        publish(starter(), url, key, { name: 'Ada' })
        return resultOf(starter(), url, `welcome:${key}`)
      }
      await expect.poll(next).toMatchObject({ edited: true })
    })

    it('is joined by a worker that serves the same file', async () => {
      const url = (await dev?.wrote(/http:\/\/[\w.]+:\d+/)) ?? ''
      const worker = start(starter(), 'baton', 'worker', 'tasks/welcome.ts', '--url', url)

      await worker.wrote(/worker \S+ \(process \d+\) serves welcome/)
      await worker.stop()
    })
  })
}

const greeting = (name: string) => ({ greeting: expect.stringContaining(name) })

type Running = { wrote(pattern: RegExp): Promise<string>; stop(): Promise<void> }

/** Starts a program of the project's packages. */
function start(starter: Starter, ...args: readonly string[]): Running {
  const [command, ...first] = starter.execute
  const child: ChildProcess = spawn(command, [...first, ...args], {
    cwd: starter.folder,
    env: machineEnvironment(starter.nodeFolder),
    detached: true,
  })
  let output = ''
  // The program's own processes have ended, too, when its output is closed.
  const ended = new Promise<void>(done => child.once('close', () => done()))
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', chunk => (output += chunk))
  return {
    wrote: async pattern => {
      await expect.poll(() => (child.exitCode === null ? pattern.test(output) : output)).toBe(true)
      return pattern.exec(output)?.[0] ?? ''
    },
    stop: async () => {
      if (child.exitCode === null) process.kill(-(child.pid as number), 'SIGTERM')
      await ended
    },
  }
}

function publish(starter: Starter, url: string, key: string, input: object): void {
  const body = JSON.stringify({ type: 'welcome', key, input })
  starter.succeed('curl', '--silent', '--fail', '--json', body, `${url}/v1/tasks`)
}

function resultOf(starter: Starter, url: string, id: string): unknown {
  starter.write({ 'result.mjs': RESULT_OF })
  return JSON.parse(starter.succeed('node', 'result.mjs', url, id))
}

const RESULT_OF = `
import { createClient } from 'baton-tasks'
const [url, id] = process.argv.slice(2)
console.log(JSON.stringify(await createClient({ url }).result('welcome', id)))
`

/** Publishes the starter's own definition with the client of the package, which checks its input, and waits for the result. */
function resultOfPublishing(starter: Starter, url: string, key: string, input: object): unknown {
  starter.write({ 'publish.ts': PUBLISH })
  const output = starter.succeed(...starter.execute, 'tsx', 'publish.ts', url, key, JSON.stringify(input))
  // What the tools write to standard error comes after it.
  return JSON.parse(output.split('\n')[0] ?? '')
}

const PUBLISH = `
import { createClient } from 'baton-tasks'
import { welcome } from './tasks/welcome.ts'
const [url = '', key = '', input = ''] = process.argv.slice(2)
const published = createClient({ url }).publish(welcome, JSON.parse(input), { key })
published.then(handle => handle.result()).then(result => console.log(JSON.stringify(result)))
`
