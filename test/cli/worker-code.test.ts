import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { expect, it } from 'vitest'
import { aFolder } from '../support/a-folder.ts'
import { runOn } from '../support/cli/a-terminal.ts'

/** `baton worker FILE` in a project of its own. It ends where no system runs, after the file is loaded. */
function workerIn(files: Readonly<Record<string, string>>, file: string, packages = ['esbuild']) {
  const folder = aFolder()
  for (const [name, text] of Object.entries({ 'package.json': '{"type": "module"}', ...files })) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
  mkdirSync(join(folder, 'node_modules'), { recursive: true })
  for (const name of packages) symlinkSync(resolve('node_modules', name), join(folder, 'node_modules', name))
  const temporary = join(folder, 'temporary')
  mkdirSync(temporary)
  const env = { PATH: process.env.PATH, TMPDIR: temporary, BATON_URL: 'http://127.0.0.1:1' }
  const args = [resolve('cli/program/baton.ts'), 'worker', file]
  const { stderr, status } = spawnSync(process.execPath, args, { encoding: 'utf8', cwd: folder, env })
  return {
    folder,
    stderr,
    status,
    left: readdirSync(temporary).filter(name => name.startsWith('baton-worker')),
  }
}

const TASK = "export const task = { kind: 'baton-task', type: 'video', run() {} }\n"
const LOADED = 'no baton dev of this user runs at'

it('loads what a handler may contain: path aliases, enums, imports without an extension, linked sources', () => {
  const { stderr, folder, left } = workerIn(
    {
      'tsconfig.json': '{"compilerOptions": {"paths": {"@/*": ["./*"]}}}',
      'lib/kinds.ts': 'export enum Kind { Video = "video" }\nexport const url: string = import.meta.url\n',
      'tasks/video.ts': `import { Kind } from '@/lib/kinds'\nimport { url } from '../lib/kinds'\nimport installed from 'installed'\nconsole.error(Kind.Video, url, installed)\n${TASK}`,
      'node_modules/installed/package.json': '{"type": "module", "exports": "./index.js"}',
      'node_modules/installed/index.js': 'export default import.meta.url\n',
    },
    'tasks/video.ts',
  )

  expect(stderr).toContain(LOADED)
  expect(stderr).toContain(
    `video file://${folder}/lib/kinds.ts file://${folder}/node_modules/installed/index.js`,
  )
  expect(left).toEqual([])
})

it('names the files of the project in the stack of an error', () => {
  const { stderr, folder } = workerIn(
    { 'tasks/video.ts': `type Line = string\n\nconsole.error(new Error('here').stack)\n${TASK}` },
    'tasks/video.ts',
  )

  expect(stderr).toContain(`${folder}/tasks/video.ts:3:`)
})

it('says by file, line and column what esbuild refuses', () => {
  const { stderr, status } = workerIn({ 'tasks/video.ts': "import './nowhere'\n" }, 'tasks/video.ts')

  expect(stderr).toContain('tasks/video.ts cannot be bundled: tasks/video.ts:1:')
  expect(stderr).toContain('Could not resolve "./nowhere"')
  expect(status).toBe(2)
})

it('names the file of the project when it throws while it is loaded', () => {
  const { stderr, status } = workerIn({ 'video.ts': "throw new Error('no settings')\n" }, 'video.ts')

  expect(stderr).toContain('video.ts cannot be loaded: Error: no settings')
  expect(status).toBe(2)
})

it('leaves a JavaScript file to Node', () => {
  const { stderr } = workerIn(
    { 'dist/video.js': `console.error(import.meta.url)\n${TASK}` },
    'dist/video.js',
    [],
  )

  expect(stderr).toMatch(/^file:.*\/dist\/video\.js$/m)
  expect(stderr).toContain(LOADED)
})

it.each(['1.5', '-1', 'soon', ''])('refuses --drain-ms %j before it loads the file', async ms => {
  const { code, err } = await runOn(undefined, ['worker', 'none.ts', `--drain-ms=${ms}`])

  expect(code).toBe(2)
  expect(err).toContain('Give a whole number of milliseconds from 0 up.')
})
