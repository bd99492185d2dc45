import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { build, transformSync } from 'esbuild'
import { beforeAll, describe, expect, it } from 'vitest'
import { emptyProject, install, type Project, versionsOf } from '../support/package/a-project.ts'
import { tarballs } from '../support/package/tarballs.ts'

/** The ways to install the package that users have. Each makes a project, and returns the folder of its app. */
const WAYS: Readonly<Record<string, (tarball: string) => Project>> = {
  'by npm': tarball => {
    const project = anApp(`file:${tarball}`)
    install(project)
    return project
  },
  'by pnpm': tarball => {
    const project = anApp(`file:${tarball}`)
    install(project, 'pnpm')
    return project
  },
  'by npm from a folder of the project': tarball => {
    const project = anApp('file:vendor/baton-tasks')
    project.write({ 'vendor/baton-tasks/.keep': '' })
    project.succeed('tar', '-xzf', tarball, '--strip-components=1', '--directory', 'vendor/baton-tasks')
    install(project)
    return project
  },
  'in a workspace of npm': tarball => {
    const project = aWorkspace(`file:${tarball}`)
    install(project)
    return within(project, 'apps/tasks')
  },
  'in a workspace of pnpm': tarball => {
    const project = aWorkspace(`file:${tarball}`)
    project.write({ 'pnpm-workspace.yaml': 'packages:\n  - apps/*\n' })
    install(project, 'pnpm')
    return within(project, 'apps/tasks')
  },
}

function anApp(specifier: string): Project {
  const project = emptyProject()
  project.write({ 'package.json': manifestOf('an-app', specifier), ...APP })
  return project
}

function aWorkspace(specifier: string): Project {
  const project = emptyProject()
  const root = { name: 'a-workspace', private: true, workspaces: ['apps/*'] }
  project.write({
    'package.json': JSON.stringify(root),
    'apps/tasks/package.json': manifestOf('tasks', specifier),
    ...Object.fromEntries(Object.entries(APP).map(([name, text]) => [`apps/tasks/${name}`, text])),
  })
  return project
}

function within(project: Project, folder: string): Project {
  const inFolder = (command: string, args: readonly string[]) =>
    ['sh', '-c', 'cd "$0" && exec "$@"', folder, command, ...args] as const
  return {
    ...project,
    folder: join(project.folder, folder),
    run: (command, ...args) => project.run(...inFolder(command, args)),
    succeed: (command, ...args) => project.succeed(...inFolder(command, args)),
  }
}

function manifestOf(name: string, specifier: string): string {
  const others = versionsOf('zod', 'aws-cdk-lib', 'constructs', 'esbuild', '@types/node')
  return JSON.stringify({
    name,
    private: true,
    type: 'module',
    dependencies: { 'baton-tasks': specifier, ...others },
  })
}

const APP = {
  'tasks/resize.ts': `
import { defineTask, Fatal } from 'baton-tasks'
import * as z from 'zod'

export const resize = defineTask('resize', {
  input: z.object({ url: z.url(), width: z.int().positive() }),
  run: ({ width }) => {
    if (width > 10_000) throw new Fatal('too wide')
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

describe.each(Object.entries(WAYS))('the package, installed %s', (_way, installed) => {
  let project: Project

  beforeAll(async () => {
    const { 'baton-tasks': tarball = '' } = await tarballs()
    project = installed(tarball)
  })

  it('type-checks', () => {
    expect(problemsOf(project, 'typescript', { module: 'esnext', moduleResolution: 'bundler' })).toBe('')
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
    project = WAYS['by npm']?.(tarball) as Project
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
