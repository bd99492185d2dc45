/** Shifts a process's wall clock by the milliseconds in the file that `CLOCK_FILE` names. Node loads it before all other code. */
import { readFileSync } from 'node:fs'

const RealDate = Date

/** Reads the file at every call, so that no code sees the old time after a test has moved the clock. */
function now() {
  return RealDate.now() + Number(readFileSync(process.env.CLOCK_FILE, 'utf8'))
}

globalThis.Date = class extends RealDate {
  constructor(...args) {
    super(...(args.length === 0 ? [now()] : args))
  }

  static now() {
    return now()
  }
}
