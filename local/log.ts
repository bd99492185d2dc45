import type { ChildProcess } from 'node:child_process'
import { createInterface } from 'node:readline'

/** A line that a part of the local cloud has written. */
export type LogLine = {
  /** The logical id of the function or service that wrote the line; `cloud` for the local cloud itself. */
  readonly source: string
  readonly line: string
}

/** Receives the lines of all parts. */
export type LogReceiver = (line: LogLine) => void

/** The `source` of the lines of the local cloud itself. */
export const CLOUD_SOURCE = 'cloud'

/** The log of the cloud's own parts. A line about something that is not supported is written once. */
export function cloudLog(receive: LogReceiver): (line: string) => void {
  const reported = new Set<string>()
  return line => {
    if (line.startsWith('NOT SUPPORTED')) {
      if (reported.has(line)) return
      reported.add(line)
    }
    receive({ source: CLOUD_SOURCE, line })
  }
}

/** Gives the lines that a process writes to `onLine`. */
export function readLines({ stdout, stderr }: ChildProcess, onLine: (line: string) => void): void {
  for (const input of [stdout, stderr]) if (input) createInterface({ input }).on('line', onLine)
}

const LINES_KEPT = 1000

/** Sends on the lines that a function or service writes, and keeps the last ones, oldest first. */
export function keepLines(source: string, receive: LogReceiver) {
  const lines: string[] = []
  const add = (line: string) => {
    receive({ source, line })
    lines.push(line)
    if (lines.length > LINES_KEPT) lines.shift()
  }
  return { lines: lines as readonly string[], add }
}
