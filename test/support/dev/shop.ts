import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { aFolder, writeFiles } from '../a-folder.ts'

/** A small CDK app of a user, in a folder of its own outside of this repository. */
export type Shop = {
  readonly folder: string
  write(file: string, text: string): void
  /** Replaces a text in a file, as an edit does. Throws if the text is not there. */
  edit(file: string, from: string, to: string): void
}

const PACKAGES = ['aws-cdk-lib', 'constructs', 'zod', 'esbuild', 'typescript', '@types']

const APP = `import { App, Stack } from 'aws-cdk-lib'
import { TaskSystem } from 'baton-tasks/cdk'

const stack = new Stack(new App(), 'Shop')
const tasks = new TaskSystem(stack, 'Tasks')
tasks.addHandler('Resize', { entry: 'tasks/resize.ts' })
tasks.addHandler('Mail', { entry: 'tasks/mail.ts' })
tasks.addWorkerQueue('Video', { entry: 'tasks/video.ts' })
// more
`

/** A task with an open input, whose result says which code has run. */
export const aTask = (type: string, body: string, options = '') => `import { defineTask } from 'baton-tasks'
import { VERSION } from './version.ts'

export const task = defineTask('${type}', {
  ${options}
  async run(input, ctx) {
    ${body}
    return { version: VERSION }
  },
})
`

const FILES = {
  'package.json': '{"name": "shop", "type": "module", "private": true}',
  'cdk.json': '{"app": "node infra/app.ts"}',
  'infra/app.ts': APP,
  'tasks/version.ts': 'export const VERSION: number = 1\n',
  'tasks/resize.ts': aTask('resize', "ctx.log.info('resizing'); console.log('printed')"),
  'tasks/mail.ts': aTask('mail', "throw new Error('no such user', { cause: new TypeError('no @') })"),
  'tasks/video.ts': aTask('video', ''),
}

/** Makes the app, with this repository's sources installed as the package. */
export function aShop(files: Readonly<Record<string, string>> = {}): Shop {
  const folder = aFolder({ ...FILES, ...files })
  installPackages(folder)
  const write = (file: string, text: string) => writeFiles(folder, { [file]: text })
  return {
    folder,
    write,
    edit: (file, from, to) => {
      const text = readFileSync(join(folder, file), 'utf8')
      if (!text.includes(from)) throw new Error(`${file} does not contain ${from}`)
      write(file, text.replace(from, to))
    },
  }
}

function installPackages(folder: string): void {
  const modules = join(folder, 'node_modules')
  const source = join(folder, '.baton-tasks')
  for (const place of [modules, source]) mkdirSync(place)
  for (const name of PACKAGES) symlinkSync(resolve('node_modules', name), join(modules, name))
  for (const room of ['shared', 'infra']) symlinkSync(resolve(room), join(source, room))
  const exports = { '.': './shared/index.ts', './cdk': './infra/index.ts' }
  writeFileSync(
    join(source, 'package.json'),
    JSON.stringify({ name: 'baton-tasks', type: 'module', exports }),
  )
  symlinkSync(source, join(modules, 'baton-tasks'))
}
