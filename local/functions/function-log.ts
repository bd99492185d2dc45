import type { Meter } from '../gateway/meter.ts'
import { keepLines, type LogReceiver } from '../log.ts'
import type { InvocationError } from './sandbox.ts'
import type { Definition } from './spec.ts'

/** The lines that a function writes. They are metered, sent on, and the last ones are kept. */
export function createFunctionLog(
  logicalId: string,
  { log, meter }: { readonly log: LogReceiver; readonly meter: Meter },
) {
  const kept = keepLines(logicalId, log)
  const usageKey = { caller: logicalId, service: 'logs', operation: 'PutLogEvents', resource: '' }
  let loadFailure: string | undefined

  function add(line: string) {
    kept.add(line)
    meter.add(usageKey, { calls: 1, logBytes: Buffer.byteLength(line) }, meter.owners.ofLine(line))
  }

  return {
    lines: kept.lines,
    add,
    /** Adds a failure. One to load the code is added once, however often the code is loaded again. */
    addFailure: ({ errorType, errorMessage, isLoadFailure }: InvocationError) => {
      const line = `${errorType}: ${errorMessage}`
      if (isLoadFailure && line === loadFailure) return
      loadFailure = isLoadFailure ? line : undefined
      add(line)
    },
    /** The next failure to load the code is added in any case. */
    forgetFailure: () => {
      loadFailure = undefined
    },
  }
}

/** Meters the duration of an invocation for the tasks that it was for. */
export function meterInvocation(
  { add }: Meter,
  { logicalId, memoryMb }: Definition,
  durationMs: number,
  owners: readonly string[],
): void {
  const usageKey = { caller: logicalId, service: 'lambda', operation: 'Invoke', resource: logicalId }
  const gbMs = (Math.ceil(durationMs) * memoryMb) / 1024
  add(usageKey, { calls: 1, requests: 1, gbMs }, owners)
}
