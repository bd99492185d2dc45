import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { setPriority } from 'node:os'
import { delimiter, join } from 'node:path'
import { ACCOUNT_ID, REGION } from '../../../local/account.ts'
import { appProblem } from './app-problem.ts'
import type { Project } from './project.ts'

export type Synthesis = {
  /** Aborts a synthesis that is no longer wanted. */
  readonly signal?: AbortSignal
  /**
   * The synthesis leaves the processor to the functions that run beside it, for this time. A synthesis takes some 3 s on an idle
   * machine. On a busy one it would get almost no time at a low priority, and a save would go live after minutes.
   */
  readonly giveWayMs?: number
}

/**
 * Runs the app of a project, which writes its cloud assembly. Returns the assembly's folder. It is the same folder each time: what has
 * not changed is not staged again.
 *
 * @throws Error with file, line and message, if they are known, when the app fails.
 */
export async function synthesise(project: Project, options: Synthesis = {}): Promise<string> {
  const output = assemblyFolder(project)
  mkdirSync(output, { recursive: true })
  writeFileSync(inProgress(output), '')
  const { status, text } = await runApp(project, output, options)
  if (!wasKilled(status)) rmSync(inProgress(output))
  if (status !== 0) throw new Error(appProblem(text, project, status))
  return output
}

/**
 * Removes the assembly if its last synthesis was killed: the CDK takes a half-copied asset for a whole one. Assets that no stack uses
 * any more would pile up, so a start from nothing is also the way to remove them.
 */
export function removeUnfinished(project: Project): void {
  const output = assemblyFolder(project)
  if (existsSync(inProgress(output))) rmSync(output, { recursive: true, force: true })
}

/** A shell ends with 128 and the number of the signal that has killed its command. */
function wasKilled(status: Ended['status']): boolean {
  return typeof status === 'string' || status > 128
}

/** The file that stands in the assembly while the app runs. */
function inProgress(output: string): string {
  return join(output, 'in-progress')
}

function assemblyFolder({ generated }: Project): string {
  return join(generated, 'cdk.out')
}

type Ended = { readonly status: number | string; readonly text: string }

/** Runs the app as the CDK's own command does, by the shell and with the same variables. */
function runApp(project: Project, output: string, { signal, giveWayMs }: Synthesis): Promise<Ended> {
  const app = spawn(project.app, {
    cwd: project.folder,
    shell: true,
    // A group of its own, so that the signal ends the app too, not only its shell.
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: appEnvironment(project, output),
  })
  const { pid } = app
  const kill = () => pid !== undefined && endGroup(pid)
  signal?.addEventListener('abort', kill)
  // The app is in a group of its own, so the Ctrl-C of a terminal does not reach it.
  process.once('exit', kill)
  const raising = giveWayMs === undefined ? undefined : giveWay(pid, giveWayMs)
  let text = ''
  for (const stream of [app.stdout, app.stderr]) {
    stream.on('data', chunk => {
      text += chunk
    })
  }
  const forget = () => {
    clearTimeout(raising)
    signal?.removeEventListener('abort', kill)
    process.off('exit', kill)
  }
  return new Promise((resolve, reject) => {
    app.once('error', cause => {
      forget()
      reject(cause)
    })
    app.once('close', (code, ended) => {
      forget()
      resolve({ status: code ?? ended ?? 'unknown', text })
    })
  })
}

/** Ends a process with all that it has started. */
function endGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // It has ended already.
  }
}

function appEnvironment(project: Project, output: string): NodeJS.ProcessEnv {
  const { folder, generated } = project
  return {
    // The same variables may be set by a person: they win.
    CDK_DEFAULT_ACCOUNT: ACCOUNT_ID,
    CDK_DEFAULT_REGION: REGION,
    NODE_COMPILE_CACHE: join(generated, 'compile-cache'),
    ...process.env,
    PATH: [join(folder, 'node_modules', '.bin'), process.env.PATH ?? ''].join(delimiter),
    // The validation rules concern deployments, and take a third of a synthesis.
    CDK_VALIDATION: 'false',
    CDK_OUTDIR: output,
    ...contextVariables(project),
  }
}

/** Linux allows 128 KiB for a variable and its name. */
const CONTEXT_BYTES_MAX = 127 * 1_024

/** The context, by a variable or, if it is too long for one, by a file. The CDK merges the file into what the variable holds. */
function contextVariables({ context, generated }: Project): Record<string, string> {
  const switches = {
    'aws:cdk:enable-path-metadata': true,
    'aws:cdk:enable-asset-metadata': true,
    'baton:dev': true,
  }
  const text = JSON.stringify({ ...context, ...switches })
  if (Buffer.byteLength(text) <= CONTEXT_BYTES_MAX) return { CDK_CONTEXT_JSON: text }
  const file = join(generated, 'context.json')
  writeFileSync(file, text)
  return { CDK_CONTEXT_JSON: JSON.stringify(switches), CONTEXT_OVERFLOW_LOCATION_ENV: file }
}

/** About a quarter of a processor that others could fill. At 10, `PRIORITY_BELOW_NORMAL`, it would be a tenth. */
const LOW_PRIORITY = 5

/**
 * Lowers the priority of a process and of all that it starts, and raises it again after `ms`. Only Linux lets us raise it, where it
 * groups processes by sessions: the app has a session of its own, whose priority counts there. Elsewhere the process keeps its own.
 */
function giveWay(pid: number | undefined, ms: number): NodeJS.Timeout | undefined {
  if (pid === undefined) return undefined
  try {
    setPriority(pid, LOW_PRIORITY)
  } catch {
    // The process has ended already.
  }
  setSessionPriority(pid, LOW_PRIORITY)
  return setTimeout(() => setSessionPriority(pid, 0), ms)
}

function setSessionPriority(pid: number, priority: number): void {
  try {
    if (process.platform === 'linux') writeFileSync(`/proc/${pid}/autogroup`, String(priority))
  } catch {
    // The process has ended already, or this Linux has no such groups.
  }
}
