/** Loaded into processes before everything else: their time of day is off by what the file named by `CLOCK_FILE` says, in ms. */
import { readFileSync } from 'node:fs'

const REREAD_MS = 5
const RealDate = Date
let offset = 0
let readAt = Number.NEGATIVE_INFINITY

function now() {
  if (performance.now() - readAt > REREAD_MS) {
    readAt = performance.now()
    offset = Number(readFileSync(process.env.CLOCK_FILE, 'utf8')) || 0
  }
  return RealDate.now() + offset
}

globalThis.Date = class extends RealDate {
  constructor(...args) {
    super(...(args.length === 0 ? [now()] : args))
  }

  static now() {
    return now()
  }
}
