import type { Meter } from '../gateway/meter.ts'
import type { LogReceiver } from '../log-line.ts'
import type { InvocationError } from './protocol.ts'

const LINES_KEPT = 1000

type FunctionLog = {
  /** The last lines, oldest first. */
  readonly lines: readonly string[]
  add(line: string): void
  /** Adds a failure. One to load the code is added once, however often the code is loaded again. */
  addFailure(error: InvocationError): void
  /** The next failure to load the code is added in any case. */
  forgetFailure(): void
}

/** The lines that a function writes. They are metered, sent on, and the last ones are kept. */
export function keepLines(
  logicalId: string,
  { log, meter }: { readonly log: LogReceiver; readonly meter: Meter },
): FunctionLog {
  const lines: string[] = []
  const usageKey = { caller: logicalId, service: 'logs', operation: 'PutLogEvents', resource: '' }
  let loadFailure: string | undefined

  function add(line: string) {
    log({ source: logicalId, line })
    lines.push(line)
    if (lines.length > LINES_KEPT) lines.shift()
    meter.add(usageKey, { calls: 1, logBytes: Buffer.byteLength(line) }, meter.owners.ofLine(line))
  }

  return {
    lines,
    add,
    addFailure: ({ errorType, errorMessage, isLoadFailure }) => {
      const line = `${errorType}: ${errorMessage}`
      if (isLoadFailure && line === loadFailure) return
      loadFailure = isLoadFailure ? line : undefined
      add(line)
    },
    forgetFailure: () => {
      loadFailure = undefined
    },
  }
}
