import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { delimiter, dirname, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'

/** `baton dev` in a process, as a developer starts it. */
export type DevProcess = {
  readonly child: ChildProcess
  /** All lines that it has printed. */
  readonly lines: readonly string[]
  readonly url: string
  /** Resolves to the first line that fits, from line number `from` on. */
  line(fits: RegExp, from?: number): Promise<string>
  call(
    method: string,
    path: string,
    body?: unknown,
  ): Promise<{ readonly status: number; readonly body: Task }>
  /** Publishes a task and returns it when it has ended. */
  run(type: string, key: string, input?: unknown): Promise<Task>
  /** Sends a signal, and resolves to the exit code. */
  stop(signal?: NodeJS.Signals): Promise<number | null>
}

// biome-ignore lint/suspicious/noExplicitAny: tests read answers as their users do, without types
type Task = any

const POLL_MS = 30
const PATIENCE_MS = 240_000

/** Starts `baton` with these arguments in a folder. Its standard output and error are one list of lines. */
export function spawnBaton(
  folder: string,
  args: readonly string[],
): { child: ChildProcess; lines: string[] } {
  const child = spawn(process.execPath, [resolve('cli/program/baton.ts'), ...args], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
    // Apps run with the Node of the tests.
    env: { ...process.env, PATH: [dirname(process.execPath), process.env.PATH].join(delimiter) },
  })
  const lines: string[] = []
  for (const stream of [child.stdout, child.stderr])
    createInterface({ input: stream }).on('line', line => lines.push(line))
  return { child, lines }
}

export async function startDevProcess(folder: string, args: readonly string[] = []): Promise<DevProcess> {
  const { child, lines } = spawnBaton(folder, ['dev', '--port', '0', ...args])
  const ended = once(child, 'exit')
  const line: DevProcess['line'] = (fits, from = 0) => firstLine(lines, child, fits, from)
  const address = await line(/HTTP API/)
  const url = /http:\/\/[\d.:]+/.exec(address)?.[0] ?? ''
  await line(/A worker of your own/)
  const call = caller(url)
  return {
    child,
    lines,
    url,
    line,
    call,
    run: async (type, key, input = {}) => {
      const { status, body } = await call('POST', '/v1/tasks', { type, key, input })
      if (status > 201) throw new Error(`publish answered ${status}: ${JSON.stringify(body)}`)
      return endOf(call, body.id)
    },
    stop: async (signal = 'SIGINT') => {
      child.kill(signal)
      const [code] = (await ended) as [number | null]
      return code
    },
  }
}

async function firstLine(lines: readonly string[], child: ChildProcess, fits: RegExp, from: number) {
  const until = Date.now() + PATIENCE_MS
  for (;;) {
    const found = lines.slice(from).find(line => fits.test(line))
    if (found !== undefined) return found
    const isOver = child.exitCode !== null || Date.now() > until
    if (isOver) throw new Error(`no line fits ${fits}:\n${lines.join('\n')}`)
    await sleep(POLL_MS)
  }
}

function caller(url: string): DevProcess['call'] {
  return async (method, path, body) => {
    const json = body !== undefined && {
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    }
    const response = await fetch(url + path, { method, ...json })
    return { status: response.status, body: await response.json() }
  }
}

const ENDS = ['succeeded', 'failed', 'cancelled']

async function endOf(call: DevProcess['call'], id: string): Promise<Task> {
  const until = Date.now() + PATIENCE_MS
  for (;;) {
    const { body } = await call('GET', `/v1/tasks/${id}`)
    if (ENDS.includes(body.status)) return body
    if (Date.now() > until) throw new Error(`${id} has not ended: ${JSON.stringify(body)}`)
    await sleep(POLL_MS)
  }
}
