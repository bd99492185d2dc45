import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

/** A small JSON value that survives restarts when it has a file, and lives in memory when it has none. */
export type StateFile<T> = {
  read(): T
  /** Replaces the value; the file is written soon after, many changes at once. */
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
    // Renamed into place, so that a kill in the middle leaves the old state, not half of the new one.
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
    throw new Error(`The kept state in ${file} cannot be read`, { cause })
  }
}
