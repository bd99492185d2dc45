import { join } from 'node:path'
import { BUNDLE_METADATA, type BundleSpec } from '../../infra/bundling/esbuild.ts'
import { type LocalCloud, startLocalCloud } from '../../local/cloud.ts'
import type { RunInProcess } from '../../local/functions/sandbox.ts'
import { createClient } from '../../shared/client/client.ts'
import { BatonError } from '../../shared/core/values/values.ts'
import type { Bundles, CodeProblem, Rebuilt } from './bundles/bundles.ts'
import type { DevOptions } from './command/dev-command.ts'
import { leaveDevRecord } from './command/dev-record.ts'
import { dataFolderOf } from './requirements.ts'
import { placeIn } from './synthesis/synthesis.ts'
import { keyOf, type System } from './synthesis/systems.ts'
import type { Terminal } from './terminal.ts'

/** A stack that runs here. */
export type Running = {
  readonly system: System
  readonly cloud: LocalCloud
}

/** The stacks that run here, each in a local cloud of its own. */
export type RunningSystems = ReturnType<typeof createRunningSystems>

type Parts = {
  readonly folder: string
  readonly options: DevOptions
  readonly bundles: Bundles
  readonly terminal: Terminal
}

/** A burst starts as many processes of a function, each with some 40 MB. One serves up to 10 messages of a queue at once. */
const PROCESSES_PER_FUNCTION_MAX = 3

type Booted = { system: System; readonly cloud: LocalCloud; readonly forget: () => void }

type State = {
  readonly parts: Parts
  readonly byName: Map<string, Booted>
  readonly broken: PromiseWithResolvers<string>
  ports: number
}

export function createRunningSystems(parts: Parts) {
  const byName = new Map<string, Booted>()
  const broken = Promise.withResolvers<string>()
  const state: State = { parts, byName, broken, ports: 0 }
  return {
    all: () => [...byName.values()],
    /** Boots a stack. @throws when it does not start. */
    start: (system: System) => start(state, system),
    /** Deploys a changed stack in place. @throws when it cannot be deployed; the old one then runs on. */
    redeploy: async (running: Running, next: System) => {
      await running.cloud.redeploy(next.assemblyDir)
      const booted = byName.get(keyOf(next))
      if (booted) booted.system = next
    },
    /** Gives a function its new code, if it loads. Returns why it does not load. */
    replaceCode: (rebuilt: Rebuilt, folder: string) => replaceCode(state, rebuilt, folder),
    stop: async ({ system, cloud }: Running) => {
      byName.get(keyOf(system))?.forget()
      byName.delete(keyOf(system))
      await cloud.stop()
    },
    stopAll: async () => {
      await Promise.all(
        [...byName.values()].map(({ cloud, forget }) => {
          forget()
          return cloud.stop()
        }),
      )
    },
    /** Resolves with the reason when a stack has ended by itself. */
    broken: broken.promise,
  }
}

async function start(state: State, system: System): Promise<Running> {
  const { byName, broken, parts } = state
  const { options, bundles, terminal } = parts
  const inspect = inspectedIn(system, options.inspect)
  const cloud = await startLocalCloud({
    assemblyDir: system.assemblyDir,
    stackName: system.stackName,
    apiPort: options.port === 0 ? 0 : options.port + state.ports++,
    allowedHosts: options.allowHost,
    ...(options.dashboard !== undefined && { dashboardDir: options.dashboard }),
    ...(options.auth && { auth: options.auth }),
    ...(options.data !== undefined && { dataDir: dataFolderOf(options.data, system) }),
    environment: { BATON_DEV: '1' },
    maxSandboxesPerFunction: PROCESSES_PER_FUNCTION_MAX,
    code: (functionId, metadata) => {
      const spec = metadata[BUNDLE_METADATA] as BundleSpec | undefined
      if (!spec) return undefined
      const named = `bundling ${spec.types.join(', ')}`
      return terminal.during(named, () => bundles.folderOf(bundleKey(system, functionId), spec))
    },
    onRunsDied: (runs, reason) => {
      const url = byName.get(keyOf(system))?.cloud.apiUrl
      if (url !== undefined) void reportDied(url, runs, reason)
    },
    during: terminal.during,
    ...(inspect && { inspect }),
    log: line => {
      const booted = byName.get(keyOf(system)) ?? { system }
      const label = byName.size > 1 ? system.label : undefined
      terminal.line(line, source => booted.system.ownFunctions.has(source), label)
    },
  })
  const environment = workerEnvironment(cloud)
  const forget = leaveDevRecord({ pid: process.pid, url: cloud.apiUrl, environment })
  const booted = { system, cloud, forget }
  byName.set(keyOf(system), booted)
  void cloud.broken.then(reason => broken.resolve(reason))
  for (const own of system.ownFunctions) void cloud.functions.find(own).warm(1)
  return booted
}

async function replaceCode(
  { byName, parts }: State,
  { key, types }: Rebuilt,
  folder: string,
): Promise<CodeProblem | undefined> {
  for (const { system, cloud } of byName.values()) {
    const handler = system.handlers.find(({ functionId }) => bundleKey(system, functionId) === key)
    const replaced = handler && (await cloud.functions.find(handler.functionId).replaceCode(folder))
    if (!replaced?.problem) continue
    const { errorType, errorMessage, trace = [] } = replaced.problem
    const place = placeIn(trace, parts.folder) ?? 'without a place'
    const problem = `the new code of ${types.join(', ')} does not load: ${errorType}: ${errorMessage} (${place})`
    return { problem, hasEarlier: !replaced.isLive }
  }
  return undefined
}

/**
 * Fails the runs of a process that has ended by itself. On AWS no part of Baton sees that end, and the runs are lost when their leases end.
 * That also happens here when the API demands signatures, which this report does not have.
 */
async function reportDied(url: string, runs: readonly RunInProcess[], reason: string): Promise<void> {
  const baton = createClient({ url })
  const error = { name: 'ProcessDied', message: `the process of the run has ended: ${reason}` }
  for (const { taskId, runId } of runs) {
    const fence = Number(runId.slice(runId.lastIndexOf('.') + 1))
    await baton.fail(taskId, runId, { fence, error }).catch(() => undefined)
  }
}

function bundleKey(system: System, functionId: string): string {
  return join(keyOf(system), functionId)
}

const DEBUGGER_PORT = 9229

/** The function of the type that `--inspect` names, if this stack has it. */
function inspectedIn({ handlers }: System, inspect: string | undefined) {
  if (inspect === undefined) return undefined
  const { type, port } = inspectedType(inspect)
  const handler = handlers.find(({ bundle }) => bundle.types.includes(type))
  return handler && { functionId: handler.functionId, port }
}

/** @throws BatonError `invalid` when no stack has a handler of the type that `--inspect` names, or its port is none. */
export function refuseUnknownInspection(systems: readonly System[], inspect: string | undefined): void {
  if (inspect === undefined) return
  const { type } = inspectedType(inspect)
  const types = systems.flatMap(({ handlers }) => handlers.flatMap(({ bundle }) => bundle.types))
  if (types.includes(type)) return
  const known = types.length === 0 ? 'the app has no handlers' : `there are ${types.sort().join(', ')}`
  throw new BatonError('invalid', `--inspect names ${type}, which no handler of the app serves; ${known}`)
}

function inspectedType(inspect: string): { readonly type: string; readonly port: number } {
  const [type = '', portText] = inspect.split(':')
  const port = portText === undefined ? DEBUGGER_PORT : Number(portText)
  if (Number.isInteger(port) && port > 0 && port <= 65_535) return { type, port }
  throw new BatonError('invalid', `--inspect ${inspect}: the port must be a number from 1 to 65535`)
}

const WORKER_OUTPUTS = {
  TableName: 'BATON_TABLE',
  SystemName: 'BATON_SYSTEM',
  WakeQueueUrl: 'BATON_WAKE_QUEUE_URL',
  JobsQueueUrl: 'BATON_JOBS_QUEUE_URL',
} as const

/** The environment in which a worker of this machine serves the system. */
function workerEnvironment({ environment, outputs }: LocalCloud): Record<string, string> {
  const named = Object.entries(WORKER_OUTPUTS).flatMap(([output, variable]) => {
    const key = Object.keys(outputs).find(name => name.endsWith(output))
    return key === undefined ? [] : [[variable, String(outputs[key])] as const]
  })
  return { ...environment, ...Object.fromEntries(named) }
}
