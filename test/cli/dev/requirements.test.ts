import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import {
  dataFolderOf,
  isDataFolder,
  lockProject,
  refuseForeignData,
  refuseWithoutRequirements,
} from '../../../cli/dev/requirements.ts'
import { openDataFolder } from '../../../local/data-folder.ts'
import { aFolder } from '../../support/a-folder.ts'

const { PATH } = process.env
afterEach(() => {
  process.env.PATH = PATH
})

/** Puts a `java` on the PATH that says it has this version. */
function aJava(version: string): void {
  const folder = aFolder()
  writeFileSync(join(folder, 'java'), `#!/bin/sh\necho 'openjdk version "${version}" 2025-01-01' >&2\n`)
  chmodSync(join(folder, 'java'), 0o755)
  process.env.PATH = folder + (PATH ? `:${PATH}` : '')
}

it('a taken port is refused in one line that names another way', async () => {
  aJava('17.0.1')
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo

  await expect(refuseWithoutRequirements({ port })).rejects.toMatchObject({
    code: 'misconfigured',
    message: `port ${port} is taken; choose another with --port, or 0 for any`,
  })
  server.close()
})

it('an old Java and a missing one are refused with what to install', async () => {
  aJava('11.0.2')
  await expect(refuseWithoutRequirements({ port: 0 })).rejects.toThrow(
    /^DynamoDB Local needs Java 17 or later, and 'java' on the PATH is version 11: .*install/,
  )

  process.env.PATH = aFolder()
  await expect(refuseWithoutRequirements({ port: 0 })).rejects.toThrow(
    /there is no 'java' on the PATH: .*install/,
  )
})

it('a data folder that cannot be used is refused', async () => {
  aJava('21')
  const file = join(aFolder(), 'file')
  writeFileSync(file, '')

  await expect(refuseWithoutRequirements({ port: 0, data: join(file, 'data') })).rejects.toThrow(
    'cannot be used',
  )
})

it('a machine with all of it is accepted', async () => {
  aJava('21.0.4')

  await expect(refuseWithoutRequirements({ port: 0 })).resolves.toBeUndefined()
})

/** A project whose lock names this process. */
function lockedBy(pid: number | string) {
  const folder = aFolder()
  const generated = join(folder, '.baton')
  const file = join(generated, 'dev.lock')
  mkdirSync(generated)
  writeFileSync(file, String(pid))
  return { folder, generated, file }
}

it('a project with a running baton dev is refused, by its process and folder', () => {
  const other = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'])
  const project = lockedBy(other.pid ?? 0)

  try {
    expect(() => lockProject(project)).toThrow(
      `baton dev already runs in ${project.folder} (process ${other.pid}); end it first`,
    )
    expect(readFileSync(project.file, 'utf8')).toBe(String(other.pid))
  } finally {
    other.kill('SIGKILL')
  }
})

it.each([
  ['of a process that was killed', spawnSync(process.execPath, ['-e', '']).pid],
  ['that is empty', ''],
])('a lock %s is taken over, and removed at the end', (_which, pid) => {
  const project = lockedBy(pid)

  const unlock = lockProject(project)

  expect(readFileSync(project.file, 'utf8')).toBe(String(process.pid))
  unlock()
  expect(existsSync(project.file)).toBe(false)
})

const SHOP = { stackName: 'Shop' }
const MAIL = { stackName: 'Mail' }

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
