import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, setPriority } from 'node:os'
import { delimiter, join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { stripVTControlCharacters } from 'node:util'
import { ACCOUNT_ID, REGION } from '../../../local/account.ts'
import { BatonError } from '../../../shared/core/values/values.ts'

type Synthesis = {
  readonly signal?: AbortSignal
  /**
   * For this time the synthesis has a lower priority than the functions. A synthesis takes some 3 s on an idle
   * machine. On a busy one it would get almost no time at a low priority, and a save would go live after minutes.
   */
  readonly lowPriorityMs?: number
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

function inProgress(output: string): string {
  return join(output, 'in-progress')
}

function assemblyFolder({ generated }: Project): string {
  return join(generated, 'cdk.out')
}

type Ended = { readonly status: number | string; readonly text: string }

/** Runs the app as the CDK's own command does, by the shell and with the same variables. */
function runApp(project: Project, output: string, { signal, lowPriorityMs }: Synthesis): Promise<Ended> {
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
  const raising = lowPriorityMs === undefined ? undefined : lowerPriority(pid, lowPriorityMs)
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
function lowerPriority(pid: number | undefined, ms: number): NodeJS.Timeout | undefined {
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

/** The last lines of an app's output are shown when no error can be recognised in it. */
const LINES_SHOWN_MAX = 20

/** Says why an app failed: file, line and message of its error if they can be recognised, else the end of what it printed. */
export function appProblem(
  text: string,
  project: Pick<Project, 'app' | 'folder'>,
  status: number | string,
): string {
  const lines = stripVTControlCharacters(text)
    .split('\n')
    .map(line => line.trimEnd())
    .filter(line => line !== '')
  return (
    dockerProblem(lines) ??
    errorWithPlace(lines, project.folder) ??
    [`the app (${project.app}) ended with status ${status}`, ...lines.slice(-LINES_SHOWN_MAX)].join('\n')
  )
}

/** CDK bundles an asset in a container if the app asks for it, and names the construct when it fails. */
function dockerProblem(lines: readonly string[]): string | undefined {
  const failed = lines.find(line => /Failed to bundle asset/.test(line) && /docker/i.test(line))
  const withoutDocker = lines.find(line => /spawnSync docker ENOENT/.test(line))
  const line = failed ?? (withoutDocker && lines.find(one => /Failed to bundle asset/.test(one)))
  if (line === undefined) return undefined
  const [, construct = 'an asset'] = /Failed to bundle asset ([^\s,]+)/.exec(line) ?? []
  return `${construct} is bundled in a container, and Docker does not work here: start Docker, or give its bundling a 'local' way`
}

/** Errors as Node prints them: `TypeError: message`, also `BatonError [invalid]: …` or `Error [ERR_…]: …`. */
const ERROR_LINE = /^(?:Uncaught )?((?:\w+)?(?:Error|Exception))(?: \[[^\]]+\])?: (.+)$/

function errorWithPlace(lines: readonly string[], folder: string): string | undefined {
  const at = lines.findIndex(line => ERROR_LINE.test(line))
  const [, name = '', message = ''] = ERROR_LINE.exec(lines[at] ?? '') ?? []
  if (name === '') return undefined
  const whole = [message, ...furtherLines(lines.slice(at + 1))].join('\n')
  const place = placeIn(lines, folder)
  // The messages of Baton's own errors name files themselves.
  const text = name === 'BatonError' ? whole : `${name}: ${whole}`
  return place === undefined || text.startsWith(place.split(':')[0] ?? '') ? text : `${place}: ${text}`
}

/** The further lines of a message, before the stack trace begins. */
function furtherLines(lines: readonly string[]): string[] {
  const end = lines.findIndex(line => /^\s+at |^\s*[{}]$|^Node\.js v/.test(line))
  return lines.slice(0, end < 0 ? 0 : end)
}

/** The first place in a stack trace, or above the source line that Node shows, that lies in the project. It is relative to `folder`. */
export function placeIn(lines: readonly string[], folder: string): string | undefined {
  for (const line of lines) {
    const [, file, position] =
      /(?:^\s+at .*?\(?|^)((?:file:\/\/)?\/[^():]+):(\d+(?::\d+)?)\)?$/.exec(line) ?? []
    if (file === undefined) continue
    const path = relative(folder, file.startsWith('file:') ? fileURLToPath(file) : file)
    const isOwn = !path.startsWith('..') && !path.split(sep).includes('node_modules')
    if (isOwn) return `${path}:${position}`
  }
  return undefined
}

/** A CDK app, as its `cdk.json` describes it. */
export type Project = ReturnType<typeof readProject>

type CdkJson = { readonly app?: unknown; readonly context?: Readonly<Record<string, unknown>> }

/** @throws BatonError `invalid` when the folder has no `cdk.json`, or one that names no app. */
export function readProject(folder: string) {
  const file = join(folder, 'cdk.json')
  if (!existsSync(file)) {
    throw new BatonError(
      'invalid',
      `there is no cdk.json in ${folder}; run baton dev in the folder of a CDK app`,
    )
  }
  const { app, context } = readJson<CdkJson>(file)
  if (typeof app !== 'string' || app.trim() === '')
    throw new BatonError('invalid', `"app" in ${file} must be the command that runs the CDK app`)
  const lookedUp = readIfThere(join(folder, 'cdk.context.json'))
  const ofUser = readIfThere(join(homedir(), '.cdk.json')) as CdkJson
  return {
    folder,
    app,
    /** The context of `cdk.json`, with what earlier look-ups have left in `cdk.context.json`. */
    context: { ...ofUser.context, ...context, ...lookedUp },
    /** The folder of generated files, which version control and the watcher leave out. */
    generated: join(folder, '.baton'),
  }
}

function readIfThere(file: string): Readonly<Record<string, unknown>> {
  return existsSync(file) ? readJson(file) : {}
}

function readJson<T>(file: string): T {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as T
  } catch (cause) {
    throw new BatonError('invalid', `${file} is not JSON: ${(cause as Error).message}`, { cause })
  }
}
