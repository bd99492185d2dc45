import { mkdtempSync, realpathSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { type Saves, watchSaves } from '../../../../cli/dev/watch/saves.ts'

const opened: Saves[] = []
afterEach(() => {
  for (const saves of opened.splice(0)) saves.stop()
})

function aProject() {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'saves-')))
  const save = (name: string) => writeFileSync(join(folder, name), String(Math.random()))
  for (const name of ['app.ts', 'task.ts']) save(name)
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

it('the folders of further files are watched, except for those of installed packages', async () => {
  const { saves, taken } = aProject()
  const other = aProject()
  const installed = aProject()
  saves.giveTo(files => taken.push(...files))

  saves.alsoBeside([join(other.folder, 'task.ts'), join(installed.folder, 'node_modules', 'task.ts')])
  other.save('task.ts')

  await expect.poll(() => taken).toContain(join(other.folder, 'task.ts'))
})
