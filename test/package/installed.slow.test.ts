import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { build, transformSync } from 'esbuild'
import { beforeAll, describe, expect, it } from 'vitest'
import { emptyProject, install, type Project, versionsOf } from '../support/package/a-project.ts'
import { tarballs } from '../support/package/tarballs.ts'

/** A project with its own versions of what it shares with the package, such as of its schema library. */
function anApp(specifier: string, own: Readonly<Record<string, string>> = {}): Project {
  const others = versionsOf('zod', 'aws-cdk-lib', 'constructs', 'esbuild', '@types/node')
  const dependencies = { 'baton-tasks': specifier, ...others, ...own }
  const project = emptyProject()
  const manifest = { name: 'an-app', private: true, type: 'module', dependencies }
  project.write({ 'package.json': JSON.stringify(manifest), ...APP })
  install(project)
  return project
}

/** `test/support/package/quickstart.ts` has the package managers, folders and workspaces. These are the schema libraries. */
const ZODS: Readonly<Record<string, Record<string, string>>> = {
  'zod 4': {},
  'zod 3': { zod: '3.25.76' },
}

const APP = {
  'tasks/resize.ts': `
import { defineTask, Fatal } from 'baton-tasks'
import { z } from 'zod'

export const resize = defineTask('resize', {
  input: z.object({ url: z.string().url(), width: z.number().int().positive() }),
  run: ({ width }) => {
    if (width > 10_000) throw new Fatal('too wide')
    // @ts-expect-error
    if (width.length) throw new Fatal('no number')
    return { bytes: width * 3 }
  },
})
`,
  'client.ts': `
import { chain, createClient } from 'baton-tasks'
import { resize } from './tasks/resize.js'

const baton = createClient({ url: 'http://127.0.0.1:7070' })
const input = { url: 'https://example.com/cat.png', width: 200 }
export const published = await baton.publish(resize, input, { key: 'cat' })
export const canvas = await baton.publish(chain([resize.with(input), resize.with(input)]))
// @ts-expect-error
await baton.publish(resize, { url: 'https://example.com/cat.png', width: 'wide' })
`,
  'worker.ts': `
import { createWorker } from 'baton-tasks/worker'
import { resize } from './tasks/resize.js'

createWorker({ tasks: [resize], concurrency: 20 }).start()
`,
  'app.ts': `
import { App, Stack } from 'aws-cdk-lib'
import { TaskSystem } from 'baton-tasks/cdk'

const app = new App({ outdir: 'cdk.out' })
const tasks = new TaskSystem(new Stack(app, 'App'), 'Tasks')
tasks.addHandler('Resize', { entry: 'tasks/resize.ts' })
app.synth()
`,
}

const PARSE = `
import { runTask } from 'baton-tasks/testing'
import { resize } from './tasks/resize.js'

const url = 'https://example.com/cat.png'
const { outcome, result } = await runTask(resize, { url, width: 200 })
console.log(outcome, result?.bytes)
const refused = await runTask(resize, { url, width: -1 })
console.log(refused.outcome, refused.error?.message)
`
const AS_MODULE = [
  '--bundle',
  '--packages=external',
  '--format=esm',
  '--platform=node',
  '--outfile=parse.mjs',
]

describe.each(Object.entries(ZODS))('the package, in a project with %s', (_zod, own) => {
  let project: Project

  beforeAll(async () => {
    const { 'baton-tasks': tarball = '' } = await tarballs()
    project = anApp(`file:${tarball}`, own)
  })

  it('type-checks', () => {
    expect(problemsOf(project, 'typescript', { module: 'esnext', moduleResolution: 'bundler' })).toBe('')
    // The parsed input has the types of the schema. A misspelt name is found.
    expect(APP['tasks/resize.ts']).toContain('@ts-expect-error')
  })

  it('parses the input by the schema', () => {
    project.write({ 'parse.ts': PARSE })

    const printed = project.succeed('npx', '--no-install', 'esbuild', 'parse.ts', ...AS_MODULE)
    const [parsed, refused] = project.succeed('node', 'parse.mjs').trim().split('\n')

    expect(printed).not.toContain('error')
    expect(parsed).toBe('succeeded 600')
    expect(refused).toMatch(/^failed input does not fit resize: width: /)
  })

  it('synthesises on the Node of the machine, without a lock file and without bundling the system itself', () => {
    const { code } = transformSync(APP['app.ts'], { loader: 'ts' })
    writeFileSync(join(project.folder, 'app.mjs'), code)

    project.succeed('node', 'app.mjs')

    const bundles = globSync('cdk.out/asset.*/index.mjs', { cwd: project.folder })
    expect(bundles.length).toBeGreaterThanOrEqual(9)
    const texts = bundles.map(path => readFileSync(join(project.folder, path), 'utf8'))
    expect(texts.filter(text => text.includes('too wide'))).toHaveLength(1)
  })
})

type Resolution = { readonly module: string; readonly moduleResolution: string; readonly strict?: boolean }

/** What the compiler says about the project. It checks the declarations of all packages, too. */
function problemsOf(project: Project, compiler: string, resolution: Resolution): string {
  const options = { target: 'es2022', strict: true, skipLibCheck: false, noEmit: true, types: ['node'] }
  const file = 'tsconfig.json'
  const config = { compilerOptions: { ...options, ...resolution }, include: ['*.ts', 'tasks/*.ts'] }
  project.succeed('node', '--eval', `fs.writeFileSync('${file}', process.argv[1])`, JSON.stringify(config))
  return project.run(process.execPath, resolve(`node_modules/${compiler}/bin/tsc`), '--project', file).output
}

describe('the types of the package', () => {
  let project: Project

  beforeAll(async () => {
    const { 'baton-tasks': tarball = '' } = await tarballs()
    project = anApp(`file:${tarball}`)
  })

  const cases = [
    { compiler: 'typescript', module: 'node16', moduleResolution: 'node16', strict: true },
    { compiler: 'typescript', module: 'nodenext', moduleResolution: 'nodenext', strict: false },
    { compiler: 'typescript-5', module: 'nodenext', moduleResolution: 'nodenext', strict: true },
    { compiler: 'typescript-5', module: 'esnext', moduleResolution: 'bundler', strict: false },
  ]

  it.each(cases)(
    'compile under $compiler, $moduleResolution, strict: $strict',
    ({ compiler, ...resolution }) => {
      expect(problemsOf(project, compiler, resolution)).toBe('')
    },
  )

  it('say nothing of the AWS SDK, which the project does not have', () => {
    expect(globSync('node_modules/@aws-sdk', { cwd: project.folder })).toEqual([])
  })

  it('belong to code that a bundler makes small for a browser', async () => {
    const { metafile } = await build({
      absWorkingDir: project.folder,
      stdin: {
        contents: "export { createClient, defineTask } from 'baton-tasks'",
        resolveDir: project.folder,
      },
      bundle: true,
      minify: true,
      write: false,
      metafile: true,
      outfile: 'out.js',
    })

    expect(Object.keys(metafile.inputs)).toContain('node_modules/baton-tasks/shared/browser.js')
    expect(Object.values(metafile.outputs)[0]?.imports).toEqual([])
  })
})
