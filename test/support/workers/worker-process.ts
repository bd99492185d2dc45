import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { LocalSystem } from '../local-system/local-system.ts'

export type WorkerProcess = {
  readonly pid: number
  /** The lines that the worker has written. */
  readonly lines: readonly string[]
  signal(signal: NodeJS.Signals): void
  /** Resolves to the exit code; null after a signal. */
  readonly ended: Promise<number | null>
}

/** The preloaded file writes a worker's compile cache early, because tests kill most workers before Node would write it. */
const KEEP_COMPILED = `--import=${new URL('keep-compiled.mjs', import.meta.url)}`
const { NODE_COMPILE_CACHE } = process.env
const COMPILE_CACHE = NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE }

/** Starts `baton worker` in a process of its own, and resolves once it serves. */
export async function startWorker(
  { cloud }: LocalSystem,
  args: readonly string[] = [],
  environment: Readonly<Record<string, string>> = {},
  { leadsGroup = false }: { readonly leadsGroup?: boolean } = {},
): Promise<WorkerProcess> {
  const child = spawn(
    process.execPath,
    [KEEP_COMPILED, 'cli/program/baton.ts', 'worker', 'test/system/tasks/by-workers.ts', ...args],
    {
      detached: leadsGroup,
      stdio: ['ignore', 'pipe', process.env.VERBOSE ? 'inherit' : 'pipe'],
      env: {
        ...{ PATH: process.env.PATH, ...COMPILE_CACHE, ...cloud.environment },
        BATON_TABLE: String(cloud.outputs.TableName),
        BATON_SYSTEM: 'Baton',
        BATON_WAKE_QUEUE_URL: cloud.resource('AWS::SQS::Queue', 'MessagesWakeQueue').physicalId,
        ...environment,
      },
    },
  )
  const ended = once(child, 'exit').then(([code]) => code as number | null)
  const lines = await linesOnceServing(child)
  return { pid: child.pid ?? 0, lines, ended, signal: signal => void child.kill(signal) }
}

async function linesOnceServing(child: ChildProcess): Promise<string[]> {
  const lines: string[] = []
  if (!child.stdout) return lines
  child.stderr?.on('data', (chunk: Buffer) => lines.push(chunk.toString()))
  const reader = createInterface({ input: child.stdout })
  await new Promise<void>((resolve, reject) => {
    child.once('exit', code => reject(new Error(`the worker ended with ${code}:\n${lines.join('\n')}`)))
    reader.on('line', line => {
      if (process.env.VERBOSE) console.error(line)
      lines.push(line)
      if (line.includes(' serves ')) resolve()
    })
  })
  return lines
}
