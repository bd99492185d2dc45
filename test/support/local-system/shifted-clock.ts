import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { aFolder } from '../a-folder.ts'

/** The wall clock of all functions, which a test may move forward. */
export type ShiftedClock = {
  /** The environment of the functions that use this clock. */
  readonly environment: Readonly<Record<string, string>>
  now(): number
  /** Sets the clock and returns by how much it moved. Queues and timers are not affected. */
  moveTo(time: number): number
}

export function aShiftedClock(): ShiftedClock {
  const folder = aFolder()
  const file = join(folder, 'offset')
  let offset = 0
  const now = () => Date.now() + offset
  writeFileSync(file, '0')
  return {
    environment: {
      CLOCK_FILE: file,
      NODE_OPTIONS: `--import ${new URL('shift-clock.mjs', import.meta.url)}`,
    },
    now,
    moveTo: time => {
      const moved = time - now()
      offset += moved
      // The file is renamed into place, so that no function reads a half-written one.
      writeFileSync(`${file}.next`, String(offset))
      renameSync(`${file}.next`, file)
      return moved
    },
  }
}
