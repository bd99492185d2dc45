import { mkdirSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { watchFolders } from '../../../../cli/dev/watch/watch.ts'
import { aFolder } from '../../../support/a-folder.ts'

type Watcher = ReturnType<typeof watchFolders>

const watchers: Watcher[] = []
afterEach(() => {
  for (const watcher of watchers.splice(0)) watcher.stop()
})

/** Watches a folder, and tells the changed files by their paths in it. */
function watching(folder: string, leftOut: readonly string[] = []) {
  const seen: string[] = []
  const bursts: string[][] = []
  const watcher = watchFolders([folder], {
    ignored: new Set(['node_modules', 'dist']),
    isLeftOut: path => leftOut.some(name => path === join(folder, name)),
    onChange: files => {
      const names = [...files].map(file => file.slice(folder.length + 1)).sort()
      seen.push(...names)
      bursts.push(names)
    },
    onProblem: message => {
      throw new Error(message)
    },
  })
  watchers.push(watcher)
  const write = (name: string, text: string) => writeFileSync(join(folder, name), text)
  /** Waits until a last change is seen, so that changes that must not be seen have had their time. */
  const settled = async () => {
    write('last', String(Math.random()))
    await expect.poll(() => seen).toContain('last')
    return seen.filter(name => name !== 'last')
  }
  return { watcher, seen, bursts, write, settled }
}

it('a changed file is seen, also one that an editor replaces by renaming', async () => {
  const folder = aFolder({ 'a.ts': '1', 'deep/er/b.ts': '1' })
  const { write, seen } = watching(folder)

  write('a.ts', '2')
  write('deep/er/.b.ts.draft', '2')
  renameSync(join(folder, 'deep/er/.b.ts.draft'), join(folder, 'deep/er/b.ts'))

  await expect.poll(() => seen).toEqual(expect.arrayContaining(['a.ts', 'deep/er/b.ts']))
})

it('files of a new folder are seen, and a removed file is', async () => {
  const folder = aFolder({ 'a.ts': '1' })
  const { seen } = watching(folder)

  mkdirSync(join(folder, 'new/inner'), { recursive: true })
  writeFileSync(join(folder, 'new/inner/c.ts'), '1')
  rmSync(join(folder, 'a.ts'))

  await expect.poll(() => seen).toEqual(expect.arrayContaining(['a.ts', 'new/inner/c.ts']))
  writeFileSync(join(folder, 'new/inner/d.ts'), '1')
  await expect.poll(() => seen).toContain('new/inner/d.ts')
})

it.each([
  ['removed and made again', (folder: string) => rmSync(folder, { recursive: true })],
  ['replaced by another', (folder: string) => renameSync(folder, `${folder}-before`)],
])('a folder that is %s is watched as before, with the folders in it', async (_how, takeAway) => {
  const folder = aFolder({ 'tasks/a.ts': '1', 'tasks/in/b.ts': '1', 'tasks/gone.ts': '1' })
  const { seen, write } = watching(folder)
  const forgetSeen = () => void seen.splice(0)

  takeAway(join(folder, 'tasks'))
  await expect
    .poll(() => seen)
    .toEqual(expect.arrayContaining(['tasks/a.ts', 'tasks/in/b.ts', 'tasks/gone.ts']))
  forgetSeen()
  mkdirSync(join(folder, 'tasks/in'), { recursive: true })
  for (const name of ['tasks/a.ts', 'tasks/in/b.ts']) write(name, '2')
  await expect.poll(() => seen).toEqual(expect.arrayContaining(['tasks/a.ts', 'tasks/in/b.ts']))
  forgetSeen()

  for (const name of ['tasks/a.ts', 'tasks/in/b.ts']) write(name, '3')

  await expect.poll(() => seen).toEqual(expect.arrayContaining(['tasks/a.ts', 'tasks/in/b.ts']))
})

it('saves in a folder that was replaced within one burst are seen', async () => {
  const folder = aFolder({ 'tasks/in/a.ts': '1' })
  const { seen, write, settled } = watching(folder)

  for (const text of ['2', '3']) {
    rmSync(join(folder, 'tasks'), { recursive: true })
    mkdirSync(join(folder, 'tasks/in'), { recursive: true })
    write('tasks/in/a.ts', text)
  }
  expect(await settled()).toContain('tasks/in/a.ts')
  seen.splice(0)
  write('tasks/in/a.ts', '4')

  await expect.poll(() => seen).toContain('tasks/in/a.ts')
})

it('a further folder that is removed and made again is watched as before', async () => {
  const { watcher, seen } = watching(aFolder())
  const other = aFolder({ 'built/b.ts': '1' })
  const built = join(other, 'built')
  watcher.also(built)

  rmSync(built, { recursive: true })
  await expect.poll(() => seen.filter(name => name.endsWith('b.ts'))).toHaveLength(1)
  mkdirSync(built)
  writeFileSync(join(built, 'b.ts'), '2')
  await expect.poll(() => seen.filter(name => name.endsWith('b.ts')).length).toBeGreaterThan(1)
  const before = seen.length
  writeFileSync(join(built, 'b.ts'), '3')

  await expect.poll(() => seen.length).toBeGreaterThan(before)
})

it('generated and installed folders, and files of editors, are not seen', async () => {
  const folder = aFolder({
    'node_modules/x/i.js': '1',
    'dist/a.js': '1',
    '.baton/e.ts': '1',
    '.git/HEAD': '1',
  })
  const { write, settled } = watching(folder)

  for (const name of ['node_modules/x/i.js', 'dist/a.js', '.baton/e.ts', '.git/HEAD', 'a.ts~', '.a.ts.swp'])
    write(name, '2')

  expect(await settled()).toEqual([])
})

it('a folder that is left out by its path is not seen, also when it is new', async () => {
  const folder = aFolder({ 'state/queues.json': '1', 'in/state/a.ts': '1' })
  const { write, settled } = watching(folder, ['state', 'later'])

  write('state/queues.json', '2')
  mkdirSync(join(folder, 'later'))
  write('later/queues.json', '1')
  write('in/state/a.ts', '2')

  expect(await settled()).toEqual(['in/state/a.ts'])
})

it('a watched folder that is left out later is not seen from then on', async () => {
  const folder = aFolder()
  const leftOut: string[] = []
  const { write, seen, settled } = watching(folder, leftOut)
  mkdirSync(join(folder, 'state/deep'), { recursive: true })
  for (const name of ['state/a.json', 'state/deep/b.json']) write(name, '1')
  await expect.poll(() => seen).toEqual(expect.arrayContaining(['state/a.json', 'state/deep/b.json']))

  leftOut.push('state', 'state/deep')
  seen.splice(0)
  for (const name of ['state/a.json', 'state/deep/b.json']) write(name, '2')

  expect(await settled()).toEqual([])
})

it('a file that is written with the same content has not changed', async () => {
  const folder = aFolder({ 'a.ts': '1' })
  const { write, settled } = watching(folder)
  write('a.ts', '2')
  expect(await settled()).toEqual(['a.ts'])

  write('a.ts', '2')
  utimesSync(join(folder, 'a.ts'), 1, 1)

  rmSync(join(folder, 'last'))
  expect(await settled()).toEqual(['a.ts'])
})

it('a burst of saves is reported together', async () => {
  const { write, settled, bursts } = watching(aFolder())

  for (let nth = 0; nth < 40; nth++) write(`${nth % 20}.ts`, String(nth))

  expect(new Set(await settled()).size).toBe(20)
  expect(bursts.length).toBeLessThan(20)
})

it('one more folder may be watched, without the folders in it', async () => {
  const folder = aFolder()
  const other = aFolder({ 'b.ts': '1', 'in/c.ts': '1' })
  const { watcher, seen } = watching(folder)
  watcher.also(other)

  writeFileSync(join(other, 'in/c.ts'), '2')
  writeFileSync(join(other, 'b.ts'), '2')

  await expect.poll(() => seen.some(name => name.endsWith('b.ts'))).toBe(true)
  expect(seen.some(name => name.endsWith('c.ts'))).toBe(false)
})
