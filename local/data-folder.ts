import { randomBytes } from 'node:crypto'
import * as fs from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { REGION } from './account.ts'

/** The folder in which a local system keeps its data between starts. */

/** The data that a local system keeps between its starts. Only the owner of the folder can read it. */
export type DataFolder = {
  readonly accessKey: string
  file(name: string): string
  /** DynamoDB Local's files; their names contain the access key. */
  readonly dynamodb: string
  readonly sqs: string
}

const KEY_FILE = 'access-key'
const STORES = ['dynamodb', 'sqs']
const STATE_FILES = ['checkpoints.json', 'schedules.json', 'deployed.json']
const KEY = /^[0-9a-f]{32}$/
/** The database of earlier versions, which had one for all access keys. SQLite may have left further files next to it. */
const SHARED_DATABASE = 'shared-local-instance.db'

/**
 * A new access key of 128 random bits. DynamoDB Local accepts letters and digits only, and names a file after the key. The key
 * has no capital letters, because some file systems do not distinguish them.
 */
export function newAccessKey(): string {
  return randomBytes(16).toString('hex')
}

/**
 * Opens a data folder, and creates it if it is missing. The access key is created once, because the tables of one key are
 * invisible to another. If the folder cannot be used, the message of the error says in one line what to do.
 */
export function openDataFolder(path: string): DataFolder {
  const folder = resolve(path)
  const file = (name: string) => join(folder, name)
  const [dynamodb, sqs] = [file('dynamodb'), file('sqs')]
  try {
    makeFolder(folder)
    for (const inner of [dynamodb, sqs]) openPrivately(inner)
    tryToWrite(folder)
    // Schedules contain inputs of tasks, so only the owner may read them.
    for (const name of fs.readdirSync(folder)) if (name.endsWith('.json')) fs.chmodSync(file(name), 0o600)
  } catch (cause) {
    throw unusable(folder, cause)
  }
  const accessKey = keptKey(folder, dynamodb)
  adoptSharedDatabase(dynamodb, accessKey)
  return { accessKey, file, dynamodb, sqs }
}

/** Creates a folder if it is missing. @throws when this user cannot write into it; the message says in one line what to do. */
export function openFolder(path: string): void {
  const folder = resolve(path)
  try {
    makeFolder(folder)
    tryToWrite(folder)
  } catch (cause) {
    throw unusable(folder, cause)
  }
}

/** Whether a folder holds the data of a local system, of this version or an earlier one. */
export function holdsData(path: string): boolean {
  if (fs.existsSync(join(path, KEY_FILE))) return true
  const [dynamodb = ''] = STORES.map(name => join(path, name))
  return fs.existsSync(dynamodb) && fs.readdirSync(dynamodb).some(name => name.endsWith('.db'))
}

/** The files and folders in `path` that have the names of files and folders of a data folder. */
export function dataIn(path: string): string[] {
  return [KEY_FILE, ...STORES, ...STATE_FILES].filter(name => fs.existsSync(join(path, name)))
}

function unusable(folder: string, cause: unknown): Error {
  return new Error(
    `the data folder ${folder} cannot be used (${(cause as Error).message}); give a folder that this user may write`,
    { cause },
  )
}

/** Creates a folder and those above it. Node's `recursive` never ends on a file system that refuses new folders, e.g. `/proc`. */
function makeFolder(folder: string): void {
  if (fs.statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return
  const above = dirname(folder)
  if (above !== folder) makeFolder(above)
  fs.mkdirSync(folder, { mode: 0o700 })
}

function openPrivately(folder: string): void {
  makeFolder(folder)
  // An earlier version left its folder open to all users.
  fs.chmodSync(folder, 0o700)
  tryToWrite(folder)
  for (const name of fs.readdirSync(folder)) fs.closeSync(fs.openSync(join(folder, name), 'r+'))
}

/** Writes a file, because permissions alone do not show a read-only file system. */
function tryToWrite(folder: string): void {
  const probe = join(folder, `.probe-${process.pid}`)
  fs.writeFileSync(probe, '')
  fs.rmSync(probe)
}

/** The folder's access key. The first start creates it, before there are tables that need it. */
function keptKey(folder: string, dynamodb: string): string {
  const file = join(folder, KEY_FILE)
  const kept = readIfThere(file)?.trim()
  if (kept === undefined) {
    if (databasesIn(dynamodb).length > 0) {
      throw new Error(
        `${file} is missing, and nothing can read the tables in ${dynamodb} without it; restore it, or give an empty folder`,
      )
    }
    const made = newAccessKey()
    fs.writeFileSync(file, `${made}\n`, { mode: 0o600, flag: 'wx' })
    return made
  }
  if (!KEY.test(kept)) {
    throw new Error(
      `${file} does not contain an access key (32 digits and letters a–f); restore it, or give an empty folder`,
    )
  }
  fs.chmodSync(file, 0o600)
  return kept
}

function readIfThere(file: string): string | undefined {
  try {
    return fs.readFileSync(file, 'utf8')
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw new Error(`${file} cannot be read; give a folder that this user may read`, { cause })
  }
}

function databasesIn(dynamodb: string): string[] {
  return fs.readdirSync(dynamodb).filter(name => name.endsWith('.db') && name !== SHARED_DATABASE)
}

/** Gives the shared database of an earlier version the name that belongs to the access key. Both have the same format. */
function adoptSharedDatabase(dynamodb: string, accessKey: string): void {
  const own = `${accessKey}_${REGION}.db`
  const shared = fs.readdirSync(dynamodb).filter(name => name.startsWith(SHARED_DATABASE))
  if (!shared.includes(SHARED_DATABASE)) return
  if (databasesIn(dynamodb).includes(own)) {
    throw new Error(
      `${dynamodb} has tables of this version and of an earlier one (${SHARED_DATABASE}); move that file away to use the tables of this version`,
    )
  }
  // The database itself is renamed last: after a crash before that, the next start finds it and continues.
  for (const name of shared.toSorted().reverse())
    fs.renameSync(join(dynamodb, name), join(dynamodb, name.replace(SHARED_DATABASE, own)))
}

/** A small JSON value. It survives restarts if it has a file, and lives in memory otherwise. */
export type StateFile<T> = {
  read(): T
  /** Replaces the value. The file is written 50 ms later, once for all changes until then. */
  write(value: T): void
  flush(): void
}

const WRITE_DELAY_MS = 50

export function openStateFile<T>(file: string | undefined, empty: T): StateFile<T> {
  let value = file ? readExisting(file, empty) : empty
  let timer: NodeJS.Timeout | undefined

  function flush() {
    clearTimeout(timer)
    if (!file || !timer) return
    timer = undefined
    fs.mkdirSync(dirname(file), { recursive: true })
    // The file is renamed into place, so a kill in the middle leaves the old state and not half of the new one.
    fs.writeFileSync(`${file}.new`, JSON.stringify(value), { mode: 0o600 })
    fs.renameSync(`${file}.new`, file)
  }

  return {
    read: () => value,
    write: next => {
      value = next
      timer ??= setTimeout(flush, WRITE_DELAY_MS)
    },
    flush,
  }
}

function readExisting<T>(file: string, empty: T): T {
  try {
    return JSON.parse(fs.readFileSync(file, 'utf8')) as T
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return empty
    throw new Error(`The state in ${file} cannot be read`, { cause })
  }
}

/** The deployed custom resources, by logical id. */
export type KeptResources = Record<string, KeptResource>

export type KeptResource = {
  readonly type: string
  readonly properties: Record<string, unknown>
  readonly physicalId: string
  readonly data: Record<string, unknown>
}
