#!/usr/bin/env node

/**
 * The command `baton`, as the process that a user starts. `run-baton.ts` parses and runs it, and `commands.ts` lists the commands.
 *
 * Exit codes: 0 done, 1 failed, 2 wrong use, 130 interrupted by Ctrl-C. Output that scripts read goes to standard output, everything
 * else to standard error.
 */

import module from 'node:module'
import { setTimeout as sleep } from 'node:timers/promises'
import { INTERRUPTED_EXIT_CODE, type Io, TERMINATED_EXIT_CODE } from '../terminal/io.ts'
import { runBaton } from './run-baton.ts'

// The next start reuses this start's compiled code. Compiling is half of a worker's start. Node 20 has no such cache.
module.enableCompileCache?.()

const interruption = new AbortController()

/** What an interrupted process lets end first. */
const underWay = new Set<Promise<unknown>>()

/**
 * Ends the process at a Ctrl-C or SIGTERM, after what listens to the signal has put the terminal right, and after the work that must end
 * first. A second signal ends it at once.
 */
function endOnInterrupt(): void {
  const end = (code: number) => () => {
    if (interruption.signal.aborted) process.exit(code)
    interruption.abort()
    void Promise.allSettled(underWay).then(() => process.exit(code))
  }
  process.on('SIGINT', end(INTERRUPTED_EXIT_CODE))
  process.on('SIGTERM', end(TERMINATED_EXIT_CODE))
}

/** A reader such as `head` closes the pipe when it has enough. That is no failure. */
function endWithTheReader(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error
      process.exit(0)
    })
  }
}

const io: Io = {
  out: streamOf(process.stdout),
  err: streamOf(process.stderr),
  input: {
    isTTY: process.stdin.isTTY ?? false,
    [Symbol.asyncIterator]: () => process.stdin[Symbol.asyncIterator](),
  },
  env: process.env,
  now: Date.now,
  sleep: ms => sleep(ms, undefined, { signal: interruption.signal }).catch(() => {}),
  signal: interruption.signal,
  endAfter: work => void underWay.add(work),
  fetch: request => fetch(request),
}

function streamOf(stream: NodeJS.WriteStream): Io['out'] {
  return {
    write: text => void stream.write(text),
    isTTY: stream.isTTY ?? false,
    get columns() {
      return stream.isTTY ? stream.columns : undefined
    },
    get rows() {
      return stream.isTTY ? stream.rows : undefined
    },
  }
}

/** A command that runs until it is stopped, such as a worker, ends by rules of its own: it has runs to finish. */
function endAtOnce(): void {
  endOnInterrupt()
  endWithTheReader()
}

process.exitCode = await runBaton(process.argv.slice(2), io, endAtOnce)
