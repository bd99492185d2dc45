/**
 * ECS: each container service runs as one process. `serviceSpecOf` below reads it from the template. `leash.ts` is loaded into the process and
 * ends it when the local system is gone.
 */

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { extname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { keepLines, type LogReceiver, readLines } from '../log.ts'
import { createReplaceable } from '../replaceable.ts'
import type { Assembly, Stack } from '../template/stack.ts'

type Setting = {
  readonly environment: Readonly<Record<string, string>>
  readonly log: LogReceiver
}

export type Services = ReturnType<typeof createServices>

/** The delay before a restart. A process that keeps dying must not use up the machine. */
const RESTART_DELAY_MS = 1_000
/** The file that the image would start. The Dockerfile is not read. */
const BUNDLE = 'index.mjs'
const LEASH = new URL(`./leash${extname(import.meta.url)}`, import.meta.url).href

/** Reads the container services. `report` receives one that cannot run here (a foreign image, several containers). */
export function readServices(
  stack: Stack,
  assembly: Assembly,
  environment: Setting['environment'],
  report: (logicalId: string, reason: string) => void,
): ServiceSpec[] {
  return stack.ids('AWS::ECS::Service').flatMap(id => {
    try {
      return [serviceSpecOf(stack, assembly, id, environment)]
    } catch (cause) {
      report(id, messageOf(cause))
      return []
    }
  })
}

/** The container services of a cloud. A changed one is replaced, and the old process ends as at `stop`. */
export function createServices(log: LogReceiver) {
  return createReplaceable(
    ({ logicalId }: ServiceSpec) => logicalId,
    spec => startService(spec, log),
  )
}

const messageOf = (cause: unknown) => (cause instanceof Error ? cause.message : String(cause))

/** Starts one process, whatever the desired count. A process that ends before `stop` is restarted. */
function startService(spec: ServiceSpec, log: LogReceiver) {
  const stopping = new AbortController()
  const { lines: logs, add } = keepLines(spec.logicalId, log)
  let child: ChildProcess | undefined

  const running = (async () => {
    while (!stopping.signal.aborted) {
      child = spawnContainer(spec, add)
      const [code, signal] = await once(child, 'exit')
      if (stopping.signal.aborted) return
      add(`ended unexpectedly (${signal ?? `exit code ${code}`}) and is started again`)
      await sleep(RESTART_DELAY_MS, undefined, { signal: stopping.signal }).catch(() => undefined)
    }
  })()

  return {
    logicalId: spec.logicalId,
    pid: () => child?.pid,
    /** Whether the service's process runs. It does not run between a crash and the restart. */
    isUp: () => child !== undefined && child.exitCode === null && child.signalCode === null,
    logs,
    /** Sends SIGTERM, then SIGKILL after the template's stop timeout. */
    stop: async () => {
      stopping.abort()
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
      // The process has its own group, so Ctrl-C at the terminal reaches only the cloud. The cloud then ends its parts in order.
      detached: true,
      env: { PATH: process.env.PATH, TZ: ':UTC', AWS_EXECUTION_ENV: 'AWS_ECS_FARGATE', ...environment },
    },
  )
  readLines(child, onLine)
  return child
}

/** A container service as its resources in the template describe it. */
export type ServiceSpec = ReturnType<typeof serviceSpecOf>

type Container = {
  readonly Image: string
  readonly Environment?: ReadonlyArray<{ readonly Name: string; readonly Value: unknown }>
  readonly StopTimeout?: number
}

/** ECS's stop timeout when a task definition sets none. */
const STOP_TIMEOUT_S = 30

/**
 * The environment and code of the service's one container. `shared` overrides the template's own variables. The access key is the
 * service's logical id, by which the gateway identifies the caller.
 */
function serviceSpecOf(
  stack: Stack,
  assembly: Assembly,
  logicalId: string,
  shared: Readonly<Record<string, string>>,
) {
  const wanted = stack.read(logicalId, 'TaskDefinition')
  const definition = stack
    .ids('AWS::ECS::TaskDefinition')
    .find(id => stack.describe(id).physicalId === wanted)
  if (!definition) throw new Error(`${logicalId} runs ${wanted}, which this stack does not define`)
  const [container, another] = stack.read(definition, 'ContainerDefinitions') as Container[]
  if (!container || another) throw new Error(`${definition} must have one container to run locally`)
  const own = (container.Environment ?? []).map(({ Name, Value }) => [Name, String(Value)] as const)
  return {
    logicalId,
    /** The folder from which its image would be built. */
    imageDir: assembly.imageDirOf(container.Image),
    // No health check runs here, and all services of this machine share its `/tmp`.
    environment: { ...Object.fromEntries(own), ...shared, AWS_ACCESS_KEY_ID: logicalId, BATON_LIFE_FILE: '' },
    /** The time from SIGTERM to SIGKILL. */
    stopTimeoutMs: (container.StopTimeout ?? STOP_TIMEOUT_S) * 1_000,
  }
}
