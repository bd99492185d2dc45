/** Loaded into processes before everything else: their time of day is off by what the file named by `CLOCK_FILE` says, in ms. */
import { readFileSync } from 'node:fs'

const RealDate = Date

/** Read every time: what is done after the clock was moved must not see it as it was before. */
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
