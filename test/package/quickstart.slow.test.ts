import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { emptyProject, install, machineEnvironment, type Project } from '../support/package/a-project.ts'
import { tarballs } from '../support/package/tarballs.ts'

/** The first hour of a user: the starter, its checks and tests, `baton dev`, a synthesis, and a bundle for a browser. */

let project: Project

beforeAll(async () => {
  const files = await tarballs()
  project = emptyProject()
  project.succeed(
    'npm',
    'exec',
    '--yes',
    `--package=file:${files['create-baton-tasks']}`,
    'create-baton-tasks',
    '.',
  )
  useTarballs(files)
  install(project)
})

/** The starter names versions on npm. Here the packages of this build stand for them. */
function useTarballs(files: Readonly<Record<string, string>>): void {
  const manifest = JSON.parse(read('package.json'))
  for (const kind of ['dependencies', 'devDependencies']) {
    for (const name of Object.keys(manifest[kind])) {
      if (files[name] !== undefined) manifest[kind][name] = `file:${files[name]}`
    }
  }
  write('package.json', JSON.stringify(manifest))
}

const read = (file: string) => readFileSync(join(project.folder, file), 'utf8')
const write = (file: string, text: string) => writeFileSync(join(project.folder, file), text)

describe('the starter, from the packages', () => {
  it('type-checks', () => {
    project.succeed('npm', 'run', 'check')
  })

  it('passes its tests', () => {
    project.succeed('npm', 'test')
  })

  it('synthesises with the command of CDK', () => {
    project.succeed('npm', 'run', 'synth')

    expect(read('cdk.out/manifest.json')).toContain('aws:cloudformation:stack')
  })

  it('has a client that is bundled for a browser', async () => {
    const contents = "import { createClient } from 'baton-tasks'; console.log(createClient({ url: '/' }))"

    const { metafile } = await build({
      absWorkingDir: project.folder,
      stdin: { contents, resolveDir: project.folder },
      bundle: true,
      write: false,
      metafile: true,
      outfile: 'out.js',
    })

    expect(Object.values(metafile.outputs)[0]?.imports).toEqual([])
  })
})

describe('baton dev', () => {
  let dev: Running | undefined

  afterAll(() => dev?.stop())

  it('runs a task that is published with curl and one of the client, and then an edited handler', async () => {
    dev = startDev()
    const url = await dev.wrote(/http:\/\/[\w.]+:\d+/)

    await publish(url, 'first', { name: 'Ada' })
    expect(await resultOf(url, 'welcome:first')).toMatchObject({ greeting: expect.stringContaining('Ada') })

    expect(await resultOfPublishing(url, 'second', { name: 'Grace' })).toMatchObject({
      greeting: expect.stringContaining('Grace'),
    })

    const source = read('tasks/welcome.ts')
    write('tasks/welcome.ts', source.replace(/greeting: /, 'edited: true, greeting: '))
    let attempt = 0
    await expect
      .poll(async () => {
        const key = `again-${attempt++}`
        await publish(url, key, { name: 'Ada' })
        return resultOf(url, `welcome:${key}`)
      })
      .toMatchObject({ edited: true })
  })
})

type Running = { wrote(pattern: RegExp): Promise<string>; stop(): Promise<void> }

function startDev(): Running {
  const child: ChildProcess = spawn('npx', ['--no-install', 'baton', 'dev', '--port', '0'], {
    cwd: project.folder,
    env: machineEnvironment(),
    detached: true,
  })
  let output = ''
  const ended = new Promise<void>(done => child.once('exit', () => done()))
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

async function publish(url: string, key: string, input: object): Promise<void> {
  const body = JSON.stringify({ type: 'welcome', key, input })
  project.succeed('curl', '--silent', '--fail', '--json', body, `${url}/v1/tasks`)
}

async function resultOf(url: string, id: string): Promise<unknown> {
  write('result.mjs', RESULT_OF)
  return JSON.parse(project.succeed('node', 'result.mjs', url, id))
}

const RESULT_OF = `
import { createClient } from 'baton-tasks'
const [url, id] = process.argv.slice(2)
console.log(JSON.stringify(await createClient({ url }).result('welcome', id)))
`

/** Publishes the starter's own definition with the client of the package, which checks its input, and waits for the result. */
async function resultOfPublishing(url: string, key: string, input: object): Promise<unknown> {
  write('publish.ts', PUBLISH)
  const output = project.succeed('npx', '--no-install', 'tsx', 'publish.ts', url, key, JSON.stringify(input))
  // What the tools write to standard error comes after it.
  return JSON.parse(output.split('\n')[0] ?? '')
}

const PUBLISH = `
import { createClient } from 'baton-tasks'
import { welcome } from './tasks/welcome.ts'
const [url = '', key = '', input = ''] = process.argv.slice(2)
const handle = await createClient({ url }).publish(welcome, JSON.parse(input), { key })
console.log(JSON.stringify(await handle.result()))
`
