import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { spawn as spawnInTerminal } from '@lydell/node-pty'

/** `baton` in a process of its own: in a pseudo-terminal, as a person calls it, or between pipes, as a script does. */

const BATON = resolve('cli/program/baton.ts')
const PATIENCE_MS = 120_000

type Environment = Readonly<Record<string, string | undefined>>

export type InTerminal = {
  /** Everything that the terminal has got. */
  output(): string
  /** Resolves when the output fits, and throws with the output when the command ends before. */
  shows(fits: RegExp): Promise<void>
  type(text: string): void
  /** Sends Ctrl-C as a keyboard does. */
  interrupt(): void
  readonly exitCode: Promise<number>
}

export function batonInTerminal(args: readonly string[], environment: Environment = {}): InTerminal {
  const env = Object.fromEntries(
    Object.entries(environmentOf(environment)).filter(([, value]) => value !== undefined),
  )
  const terminal = spawnInTerminal(process.execPath, [BATON, ...args], {
    name: environmentOf(environment).TERM ?? 'xterm-256color',
    cols: 100,
    rows: 30,
    env: env as Record<string, string>,
  })
  let output = ''
  let isOver = false
  const listeners = new Set<() => void>()
  const tell = () => {
    for (const listener of listeners) listener()
  }
  terminal.onData(data => {
    output += data
    tell()
  })
  const exitCode = new Promise<number>(resolve => {
    terminal.onExit(({ exitCode: code }) => {
      isOver = true
      resolve(code)
      tell()
    })
  })
  return {
    output: () => output,
    shows: fits =>
      new Promise((resolve, reject) => {
        const fail = () => reject(new Error(`the terminal does not show ${fits}:\n${output}`))
        const timer = setTimeout(fail, PATIENCE_MS)
        const look = () => {
          const isShown = fits.test(output)
          if (!isShown && !isOver) return
          clearTimeout(timer)
          listeners.delete(look)
          if (isShown) resolve()
          else fail()
        }
        listeners.add(look)
        look()
      }),
    type: typed => terminal.write(typed),
    interrupt: () => terminal.write('\u0003'),
    exitCode,
  }
}

/** Runs `baton` between pipes to its end. */
export async function batonInPipes(
  args: readonly string[],
  environment: Environment = {},
  input = '',
): Promise<{ readonly code: number | null; readonly out: string; readonly err: string }> {
  const child = spawn(process.execPath, [BATON, ...args], { env: environmentOf(environment) })
  child.stdin.end(input)
  const [[code], out, err] = await Promise.all([once(child, 'close'), text(child.stdout), text(child.stderr)])
  return { code, out, err }
}

/** Runs a line of the shell, in which `baton` is the command. */
export async function inShell(
  line: string,
  environment: Environment = {},
): Promise<{ readonly out: string; readonly err: string }> {
  const command = `baton() { "${process.execPath}" "${BATON}" "$@"; }; ${line}`
  const child = spawn('bash', ['-c', command], {
    env: environmentOf(environment),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [, out, err] = await Promise.all([once(child, 'close'), text(child.stdout), text(child.stderr)])
  return { out, err }
}

function environmentOf(environment: Environment): Record<string, string | undefined> {
  const { PATH, HOME, TMPDIR, NODE_COMPILE_CACHE } = process.env
  return {
    PATH,
    HOME,
    TMPDIR,
    NODE_COMPILE_CACHE,
    TERM: 'xterm-256color',
    AWS_EC2_METADATA_DISABLED: 'true',
    ...environment,
  }
}
