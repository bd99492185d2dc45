import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { openDataFolder } from '../../local/data-folder.ts'
import { aFolder } from '../support/a-folder.ts'

let folder: string
beforeEach(() => {
  folder = join(aFolder(), 'deep', 'data')
})

const modeOf = (...path: string[]) => (statSync(join(folder, ...path)).mode & 0o777).toString(8)
const database = (name: string) => join(folder, 'dynamodb', name)

describe('a data folder', () => {
  it('keeps the access key of its first start, and only its owner can read it', () => {
    const first = openDataFolder(folder)
    chmodSync(join(folder, 'access-key'), 0o644)
    chmodSync(first.dynamodb, 0o755)

    const second = openDataFolder(folder)

    expect(first.accessKey).toMatch(/^[0-9a-z]{32}$/)
    expect(second.accessKey).toBe(first.accessKey)
    expect([modeOf('access-key'), modeOf('dynamodb'), modeOf('sqs'), modeOf()]).toEqual([
      '600',
      '700',
      '700',
      '700',
    ])
    expect(openDataFolder(`${folder}-other`).accessKey).not.toBe(first.accessKey)
  })

  it('of an earlier version gets a key, and its tables come to belong to the key', () => {
    mkdirSync(join(folder, 'dynamodb'), { recursive: true })
    writeFileSync(database('shared-local-instance.db'), 'tables')
    writeFileSync(database('shared-local-instance.db-wal'), 'latest')
    writeFileSync(join(folder, 'schedules.json'), '{}')

    const { accessKey } = openDataFolder(folder)

    expect(readFileSync(database(`${accessKey}_us-east-1.db`), 'utf8')).toBe('tables')
    expect(readFileSync(database(`${accessKey}_us-east-1.db-wal`), 'utf8')).toBe('latest')
    expect(existsSync(database('shared-local-instance.db'))).toBe(false)
    expect(modeOf('schedules.json')).toBe('600')
  })

  it('with tables of two versions is refused, and the error says what to do', () => {
    const { accessKey } = openDataFolder(folder)
    writeFileSync(database(`${accessKey}_us-east-1.db`), 'new')
    writeFileSync(database('shared-local-instance.db'), 'old')

    expect(() => openDataFolder(folder)).toThrow(
      /of this version and of an earlier one .* move that file away/,
    )
  })

  it('without a valid key is refused: its tables would seem to be gone', () => {
    const { accessKey } = openDataFolder(folder)
    writeFileSync(database(`${accessKey}_us-east-1.db`), '')
    rmSync(join(folder, 'access-key'))
    expect(() => openDataFolder(folder)).toThrow(/access-key is missing.*restore it, or give an empty folder/)

    writeFileSync(join(folder, 'access-key'), 'Not a key')
    expect(() => openDataFolder(folder)).toThrow(/does not contain an access key/)
  })
})

it('a file of the folder that cannot be written is reported in one line', () => {
  mkdirSync(join(openDataFolder(folder).sqs, 'messages.db'))

  expect(() => openDataFolder(folder)).toThrow(/cannot be used .*messages\.db.* this user may write$/)
})

/** Folders that cannot be used. Not even root can write into `/proc`. */
const UNUSABLE: ReadonlyArray<readonly [string, () => string]> = [
  ['a file in its place', () => aFile()],
  ['a folder below a file', () => join(aFile(), 'data')],
  ['a folder that cannot be written', () => '/proc/self'],
  ['a folder that cannot be made', () => '/proc/no/such/folder'],
]

function aFile(): string {
  const file = join(aFolder(), 'file')
  writeFileSync(file, '')
  return file
}

describe.runIf(process.platform === 'linux')('an unusable data folder', () => {
  it.each(UNUSABLE)('such as %s is reported in one line', (_what, pathOf) => {
    expect(() => openDataFolder(pathOf())).toThrow(
      /^the data folder [^\n]* cannot be used [^\n]* this user may write$/,
    )
  })

  it('ends `npm start` with an exit code before anything else begins', () => {
    const { status, stderr, stdout } = spawnSync(process.execPath, ['scripts/start.ts', '--data', aFile()], {
      encoding: 'utf8',
    })

    const lines = stderr
      .trim()
      .split('\n')
      .filter(line => !/Warning|--trace-warnings/.test(line))
    expect([status, stdout, lines.length]).toEqual([1, '', 1])
    expect(lines[0]).toMatch(/^the system did not start: the data folder .* cannot be used/)
  })
})
