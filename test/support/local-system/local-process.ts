import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { LocalCloud, LocalCloudOptions } from '../../../local/cloud.ts'

/** A local cloud in a process of its own, with a DynamoDB Local of its own. */
export type LocalProcess = {
  readonly child: ChildProcess
  readonly apiUrl: string
  readonly endpoint: string
  readonly sessionToken: string
  readonly functionPids: readonly number[]
  /** Resolves to the reason, in one line, for which the cloud has ended itself. */
  readonly broken: Promise<string>
}

const cloudModule = fileURLToPath(new URL('../../../local/cloud.ts', import.meta.url))

/** Warms one process of each function, prints the cloud's addresses, and later prints why the cloud has ended itself. */
const script = (options: LocalCloudOptions) => `
  const { startLocalCloud } = await import(${JSON.stringify(cloudModule)})
  const cloud = await startLocalCloud(${JSON.stringify({ apiPort: 0, ...options })})
  await Promise.all(cloud.functions.all().map(one => one.warm(1)))
  const { apiUrl, endpoint, clientOptions } = cloud
  const functionPids = cloud.functions.all().flatMap(one => one.pids())
  console.log(JSON.stringify({ apiUrl, endpoint, functionPids, sessionToken: clientOptions.credentials.sessionToken }))
  cloud.broken.then(reason => console.log(reason))
`

export async function startLocalProcess(options: LocalCloudOptions): Promise<LocalProcess> {
  const child = spawn(process.execPath, ['--input-type=module', '-e', script(options)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const lines = createInterface({ input: child.stdout })
  const [printed] = await once(lines, 'line')
  const broken = once(lines, 'line').then(([line]) => String(line))
  type Printed = Pick<LocalCloud, 'apiUrl' | 'endpoint'> & Pick<LocalProcess, 'functionPids' | 'sessionToken'>
  return { child, broken, ...(JSON.parse(printed) as Printed) }
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/** A process and all its descendants. */
export async function processesOf(root: number): Promise<Array<{ pid: number; command: string }>> {
  const ps = spawn('ps', ['-A', '-o', 'pid=,ppid=,comm='])
  let output = ''
  ps.stdout.on('data', chunk => {
    output += chunk
  })
  await once(ps, 'close')
  const rows = output.split('\n').map(row => row.trim().split(/\s+/))
  const all = rows.map(([pid, parent, command = '']) => ({
    pid: Number(pid),
    parent: Number(parent),
    command,
  }))
  const below = (pid: number): typeof all =>
    all.filter(({ parent }) => parent === pid).flatMap(child => [child, ...below(child.pid)])
  return [...all.filter(({ pid }) => pid === root), ...below(root)]
}

/** The pid of the DynamoDB Local below a cloud's process. */
export async function javaOf(root: number): Promise<number> {
  const found = (await processesOf(root)).find(({ command }) => command.endsWith('java'))
  if (!found) throw new Error(`no java runs below the process ${root}`)
  return found.pid
}
