import { mkdirSync, mkdtempSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { dataFolderOf, isDataFolder, refuseForeignData } from '../../../cli/dev/requirements.ts'
import { openDataFolder } from '../../../local/data-folder.ts'

const SHOP = { stackName: 'Shop' }
const MAIL = { stackName: 'Mail' }

function aFolder(): string {
  return realpathSync(mkdtempSync(join(tmpdir(), 'with-data-')))
}

it('a stack has the folder of its name', () => {
  expect(dataFolderOf('state', MAIL)).toBe('state/Mail')
})

it.each([
  ['that is missing', () => undefined],
  ['that is empty', (data: string) => mkdirSync(data)],
  ['with data of these stacks', (data: string) => openDataFolder(join(data, 'Shop'))],
  [
    'in which a first start was killed',
    (data: string) => mkdirSync(join(data, 'Mail/dynamodb'), { recursive: true }),
  ],
  ['with sources that are named alike', (data: string) => mkdirSync(join(data, 'sqs'), { recursive: true })],
  ['with an empty folder of a stack', (data: string) => mkdirSync(join(data, 'Mail'), { recursive: true })],
])('a folder %s is accepted', (_which, prepare) => {
  const data = join(aFolder(), 'state')
  prepare(data)

  expect(() => refuseForeignData(data, [SHOP, MAIL])).not.toThrow()
})

it('a folder of an earlier version is refused with the command that moves its files', () => {
  const data = aFolder()
  openDataFolder(data)
  writeFileSync(join(data, 'schedules.json'), '{}')

  const files = ['access-key', 'dynamodb', 'sqs', 'schedules.json'].map(name => join(data, name)).join(' ')
  expect(() => refuseForeignData(data, [SHOP, MAIL])).toThrow(
    `move them once: mkdir -p ${data}/Shop && mv ${files} ${data}/Shop/`,
  )
})

it('a folder of the first versions, which had no key, is refused as well', () => {
  const data = aFolder()
  mkdirSync(join(data, 'dynamodb'))
  writeFileSync(join(data, 'dynamodb', 'shared-local-instance.db'), '')

  expect(() => refuseForeignData(data, [SHOP])).toThrow(`mv ${data}/dynamodb ${data}/Shop/`)
})

it('a folder in which the folder of a stack holds other files is refused', () => {
  const data = aFolder()
  mkdirSync(join(data, 'Mail'))
  writeFileSync(join(data, 'Mail', 'send.ts'), '')

  expect(() => refuseForeignData(data, [SHOP, MAIL])).toThrow(
    `--data ${data} would keep the data of Mail in ${data}/Mail, which holds other files; give another folder`,
  )
})

it('without --data nothing is refused, and every folder is watched', () => {
  expect(() => refuseForeignData(undefined, [SHOP])).not.toThrow()
  expect(isDataFolder(undefined, '/p', ['/p'])('/p/state')).toBe(false)
})

it('the folder of --data is not watched, by its true path', () => {
  const folder = aFolder()
  mkdirSync(join(folder, 'state'))
  symlinkSync(join(folder, 'state'), join(folder, 'link'))

  for (const data of ['./state', join(folder, 'state'), 'link']) {
    const isLeftOut = isDataFolder(data, folder, [folder])
    expect(['state', 'tasks'].map(name => isLeftOut(join(folder, name)))).toEqual([true, false])
  }
  expect(isDataFolder('new', folder, [folder])(join(folder, 'new'))).toBe(true)
})

it.each(['.', '..'])('with --data %s only the folders of stacks are not watched', data => {
  const project = join(aFolder(), 'shop')
  mkdirSync(join(project, 'tasks'), { recursive: true })
  const root = join(project, data)

  const isLeftOut = isDataFolder(data, project, [project])
  openDataFolder(join(root, 'Shop'))

  expect(isLeftOut(join(root, 'Shop'))).toBe(true)
  expect(isLeftOut(join(project, 'tasks'))).toBe(false)
  expect(isLeftOut(project)).toBe(false)
})
