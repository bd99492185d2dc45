import { mkdtempSync, renameSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** The time of day of all functions, which a test may move forward. */
export type ShiftedClock = {
  /** For the functions that are to have it. */
  readonly environment: Readonly<Record<string, string>>
  now(): number
  /** Makes it that time; answers by how much it moved. Queues and timers go on as before. */
  moveTo(time: number): number
}

export function aShiftedClock(): ShiftedClock {
  const folder = mkdtempSync(join(tmpdir(), 'clock-'))
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
      // In one step: who reads in the middle of a write finds nothing.
      writeFileSync(`${file}.next`, String(offset))
      renameSync(`${file}.next`, file)
      return moved
    },
  }
}
