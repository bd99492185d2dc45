/**
 * ECS: each service of containers is one process, described by `spec.ts`. `leash.ts` is loaded into that process and ends it
 * when the local system is gone.
 */

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Stack } from '../template/stack.ts'
import type { Assembly } from '../template/template.ts'
import { type ServiceSpec, serviceSpecOf } from './spec.ts'

/** A service of containers, here one process from the bundle that its image would hold. */
export type LocalService = {
  readonly logicalId: string
  /** Of its process as it runs now. */
  pid(): number | undefined
  /** Whether its process runs; between its end and its next start it does not. */
  isUp(): boolean
  /** The last lines it wrote to its output, oldest first. */
  readonly logs: readonly string[]
  /** SIGTERM, and SIGKILL after the time that the template leaves it. */
  stop(): Promise<void>
}

type Setting = {
  readonly environment: Readonly<Record<string, string>>
  readonly log: (line: string) => void
}

const LINES_KEPT = 1000
/** A container that keeps dying must not take the machine with it. */
const RESTART_DELAY_MS = 1_000
/** What the image starts; its Dockerfile is not read. */
const BUNDLE = 'index.mjs'
const LEASH = new URL('./leash.ts', import.meta.url).href

/** A service that cannot run here (an image from elsewhere, several containers) is reported and left out. */
export function startServices(stack: Stack, assembly: Assembly, setting: Setting): LocalService[] {
  return stack.ids('AWS::ECS::Service').flatMap(id => {
    try {
      return [startService(serviceSpecOf(stack, assembly, id, setting.environment), setting)]
    } catch (cause) {
      setting.log(`NOT SUPPORTED locally: ${id} (AWS::ECS::Service) does not run here: ${messageOf(cause)}`)
      return []
    }
  })
}

const messageOf = (cause: unknown) => (cause instanceof Error ? cause.message : String(cause))

/** One process whatever the desired count; started again when it ends by itself. */
function startService(spec: ServiceSpec, { log }: Setting): LocalService {
  const over = new AbortController()
  const logs: string[] = []
  let child: ChildProcess | undefined

  const add = (line: string) => {
    log(`${spec.logicalId}: ${line}`)
    logs.push(line)
    if (logs.length > LINES_KEPT) logs.shift()
  }

  const running = (async () => {
    while (!over.signal.aborted) {
      child = spawnContainer(spec, add)
      const [code, signal] = await once(child, 'exit')
      if (over.signal.aborted) return
      add(`ended by itself (${signal ?? `exit code ${code}`}) and is started again`)
      await sleep(RESTART_DELAY_MS, undefined, { signal: over.signal }).catch(() => undefined)
    }
  })()

  return {
    logicalId: spec.logicalId,
    pid: () => child?.pid,
    isUp: () => child !== undefined && child.exitCode === null && child.signalCode === null,
    logs,
    stop: async () => {
      over.abort()
      child?.kill('SIGTERM')
      const timer = setTimeout(() => child?.kill('SIGKILL'), spec.stopTimeoutMs)
      await running
      clearTimeout(timer)
    },
  }
}

function spawnContainer(
  { imageDir, environment }: ServiceSpec,
  onLine: (line: string) => void,
): ChildProcess {
  const child = spawn(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', '--import', LEASH, BUNDLE],
    {
      cwd: imageDir,
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      // A group of its own: Ctrl-C at the terminal is for the cloud, which then ends its parts in order.
      detached: true,
      env: { PATH: process.env.PATH, TZ: ':UTC', AWS_EXECUTION_ENV: 'AWS_ECS_FARGATE', ...environment },
    },
  )
  for (const stream of [child.stdout, child.stderr]) {
    if (stream) createInterface({ input: stream }).on('line', onLine)
  }
  return child
}
