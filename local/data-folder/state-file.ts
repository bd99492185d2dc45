import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

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
    mkdirSync(dirname(file), { recursive: true })
    // The file is renamed into place, so a kill in the middle leaves the old state and not half of the new one.
    writeFileSync(`${file}.new`, JSON.stringify(value), { mode: 0o600 })
    renameSync(`${file}.new`, file)
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
    return JSON.parse(readFileSync(file, 'utf8')) as T
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
