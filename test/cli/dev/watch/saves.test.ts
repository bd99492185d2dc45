import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import {
  createReloader,
  ignoredFolders,
  type Reloading,
  type Saves,
  watchedFolders,
  watchSaves,
} from '../../../../cli/dev/watch/saves.ts'
import { aFolder } from '../../../support/a-folder.ts'

const opened: Saves[] = []
afterEach(() => {
  for (const saves of opened.splice(0)) saves.stop()
})

function aProject() {
  const folder = aFolder({ 'app.ts': '', 'task.ts': '' })
  const save = (name: string) => writeFileSync(join(folder, name), String(Math.random()))
  const project = { folder, app: 'true', context: {}, generated: join(folder, '.baton') }
  const terminal = { say: (line: string) => expect.unreachable(line) }
  const saves = watchSaves({ project, folders: [folder], isLeftOut: undefined, terminal })
  opened.push(saves)
  const taken: string[] = []
  const take = (files: ReadonlySet<string>) => {
    for (const file of files) taken.push(file.slice(folder.length + 1))
  }
  return { folder, save, saves, taken, take }
}

it('what is saved while the app starts is taken over when it runs', async () => {
  const { save, saves, taken, take } = aProject()
  save('app.ts')
  // Changes are seen in their order, so the first one is known when the second one is.
  const second = Promise.withResolvers<void>()
  const probe = aProject()
  probe.saves.giveTo(() => second.resolve())
  probe.save('task.ts')
  await second.promise

  saves.giveTo(take)

  await expect.poll(() => taken).toEqual(['app.ts'])
  save('task.ts')
  await expect.poll(() => taken).toEqual(['app.ts', 'task.ts'])
})

it('nothing is given when nothing was saved', () => {
  const { saves } = aProject()

  saves.giveTo(() => expect.unreachable('no file has changed'))
})

it('the folders of further files are watched, except for folders of installed packages', async () => {
  const { saves, taken } = aProject()
  const other = aProject()
  const installed = aProject()
  saves.giveTo(files => taken.push(...files))

  saves.alsoFoldersOf([join(other.folder, 'task.ts'), join(installed.folder, 'node_modules', 'task.ts')])
  other.save('task.ts')

  await expect.poll(() => taken).toContain(join(other.folder, 'task.ts'))
})

/** A reloader whose work succeeds, unless the test says otherwise. */
function aReloader(work: Partial<Reloading>) {
  return createReloader({
    rebuild: async () => undefined,
    resynthesise: async () => undefined,
    onProblem: error => expect.unreachable(String(error)),
    ...work,
  })
}

/** Work that waits for the test, and how often it began and ran at the same time. */
function heldWork() {
  const gates: Array<() => void> = []
  const state = { begun: 0, together: 0, most: 0 }
  return {
    state,
    work: async () => {
      state.begun += 1
      state.together += 1
      state.most = Math.max(state.most, state.together)
      await new Promise<void>(resolve => void gates.push(resolve))
      state.together -= 1
    },
    let: (count = 1) => {
      for (const gate of gates.splice(0, count)) gate()
      return new Promise(resolve => setImmediate(resolve))
    },
  }
}

it('a change reaches the bundles first, and then the synthesis', async () => {
  const told: string[] = []
  const reloader = aReloader({
    rebuild: async files => void told.push(`bundle ${[...files]}`),
    resynthesise: async () => void told.push('synthesise'),
  })

  reloader.changed(new Set(['/a']), 0)
  await reloader.idle()

  expect(told).toEqual(['bundle /a', 'synthesise'])
})

it('changes during a synthesis reach the bundles at once, and cause one more synthesis', async () => {
  const rebuilt: string[] = []
  const synthesis = heldWork()
  const reloader = aReloader({
    rebuild: async files => void rebuilt.push([...files].join(' ')),
    resynthesise: synthesis.work,
  })
  const settled = () => new Promise(resolve => setImmediate(resolve))

  reloader.changed(new Set(['/a']), 0)
  await settled()
  reloader.changed(new Set(['/b']), 0)
  await settled()
  reloader.changed(new Set(['/c']), 0)
  await settled()

  expect(rebuilt).toEqual(['/a', '/b', '/c'])
  expect(synthesis.state.begun).toBe(1)
  await synthesis.let()
  expect(synthesis.state.begun).toBe(2)
  await synthesis.let()
  await reloader.idle()
  expect(synthesis.state).toEqual({ begun: 2, together: 0, most: 1 })
})

it('changes while bundles are made are taken together by the next run, with the time of the first', async () => {
  const bundling = heldWork()
  const seen: unknown[] = []
  const reloader = aReloader({
    rebuild: async (files, since) => {
      seen.push([[...files], since])
      await bundling.work()
    },
  })

  for (const [at, file] of ['/a', '/b', '/c'].entries()) reloader.changed(new Set([file]), at)
  await bundling.let()
  await bundling.let()
  await reloader.idle()

  expect(seen).toEqual([
    [['/a'], 0],
    [['/b', '/c'], 1],
  ])
})

it('what throws is told, and the next change is taken over all the same', async () => {
  const done: string[] = []
  const problems: string[] = []
  const reloader = aReloader({
    rebuild: async files => {
      done.push(`bundle ${[...files]}`)
      if (files.has('/a')) throw new Error('no such function')
    },
    resynthesise: async () => {
      done.push('synthesise')
      throw new Error('no such stack')
    },
    onProblem: error => void problems.push(String(error)),
  })

  for (const file of ['/a', '/b']) {
    reloader.changed(new Set([file]), 0)
    await reloader.idle()
  }

  expect(done).toEqual(['bundle /a', 'synthesise', 'bundle /b', 'synthesise'])
  expect(problems.sort()).toEqual(['Error: no such function', 'Error: no such stack', 'Error: no such stack'])
})

it('the packages of a workspace that the project uses are watched, and installed ones are not', () => {
  const root = aFolder()
  const aPackage = (path: string, dependencies: object) => {
    mkdirSync(join(root, path), { recursive: true })
    writeFileSync(join(root, path, 'package.json'), JSON.stringify({ dependencies }))
  }
  const link = (name: string, target: string) => {
    mkdirSync(dirname(join(root, 'node_modules', name)), { recursive: true })
    symlinkSync(join(root, target), join(root, 'node_modules', name))
  }
  aPackage('apps/shop', { '@shop/jobs': '*', zod: '*', missing: '*' })
  aPackage('packages/jobs', { '@shop/model': '*' })
  aPackage('packages/model', { '@shop/jobs': '*' })
  aPackage('packages/unused', {})
  aPackage('node_modules/zod', {})
  link('@shop/jobs', 'packages/jobs')
  link('@shop/model', 'packages/model')

  const folders = watchedFolders(join(root, 'apps/shop'))

  expect(folders).toEqual(['apps/shop', 'packages/jobs', 'packages/model'].map(path => join(root, path)))
})

it('a generated folder from which the app runs is watched', () => {
  const ignored = (app: string) => ignoredFolders({ app, folder: '/p', context: {}, generated: '/p/.baton' })

  expect([...ignored('npx tsx infra/app.ts')]).toEqual(['node_modules', 'dist', 'cdk.out', 'coverage'])
  expect([...ignored('node dist/infra/app.js')]).toEqual(['node_modules', 'cdk.out', 'coverage'])
  expect([...ignored('node_modules/.bin/tsx app.ts')]).toContain('node_modules')
})
