import type { TypeConfiguration } from '../../../shared/core/types/task-type.ts'
import type { PlanningSystem } from '../../../shared/runtime/kernel/system.ts'
import {
  putType,
  registerFlowType,
  registerHandlerType,
  removeHandler,
} from '../../../shared/runtime/types/types.ts'
import type { FlowSetup, TypeSetup } from '../scenario.ts'
import type { Services } from '../world/aws/services.ts'
import { createProcess } from '../world/process.ts'
import type { Sandboxes } from '../world/sandboxes.ts'
import type { World } from '../world/world.ts'
import { runExecutor } from './functions.ts'
import type { Script } from './handlers.ts'

/** The settings of a type in a deployment. */
type Deployed = Omit<TypeSetup, 'servedBy'> & { readonly kind: 'handler' | 'http' }

export type Deployments = {
  /**
   * Removes the queue of a type and its consumer, and creates both again after `forMs`. Returns whether the
   * type had a queue.
   */
  withdraw(type: string, forMs: number, onBack: () => void): boolean
  /** Creates the queue and the Lambda of a type, or removes its queue because HTTP workers serve it. */
  serveBy(type: string, servedBy: 'lambda' | 'http'): void
}

const PAUSE_MS = 1_000

/** Deploys all types of the scenario. */
export function deployTypes(
  world: World,
  { services, executors, script }: { services: Services; executors: Sandboxes; script: Script },
): Deployments {
  const { types, flows } = world.scenario
  const serve = ({ type, servedBy }: Pick<TypeSetup, 'type' | 'servedBy'>) => {
    if (servedBy === 'http') return
    const queue = services.addQueue(type, servedBy)
    if (servedBy === 'lambda')
      runExecutor(world, { type, queue, script, sandboxes: executors, readerOf: services.readerOf })
  }
  const system = services.systemFor(createProcess(world, 'deployment'))
  void register(system, types).then(() => registerFlows(system, flows))
  types.forEach(serve)
  return {
    withdraw: (name, forMs, onBack) => {
      const setup = types.find(({ type }) => type === name)
      if (!setup || !services.queueOf(name)) return false
      services.removeQueue(name)
      world.timeline.at(world.timeline.now() + forMs, () => {
        onBack()
        serve(setup)
        void register(services.systemFor(createProcess(world, `deployment of ${name}`)), [setup])
      })
      return true
    },
    serveBy: (type, servedBy) => {
      if (servedBy === 'http') services.removeQueue(type)
      else if (!services.queueOf(type)) serve({ type, servedBy })
    },
  }
}

/** Registers types. A registration is repeated until it succeeds. */
async function register(system: PlanningSystem, setups: readonly TypeSetup[]): Promise<void> {
  for (const { servedBy, ...setup } of setups) {
    await untilDone(system, () =>
      deployType(system, { ...setup, kind: servedBy === 'http' ? 'http' : 'handler' }),
    )
  }
}

async function registerFlows(system: PlanningSystem, flows: readonly FlowSetup[]): Promise<void> {
  for (const flow of flows) await untilDone(system, () => deployFlow(system, flow))
}

async function untilDone(system: PlanningSystem, deploy: () => Promise<void>): Promise<void> {
  for (let isDone = false; !isDone; ) {
    try {
      await deploy()
      isDone = true
    } catch {
      await system.clock.sleep(PAUSE_MS)
    }
  }
}

/** Changes the kind of a type, as the deployment of a handler or its removal does. */
export async function moveType(
  system: PlanningSystem,
  { servedBy, ...content }: Omit<TypeSetup, 'servedBy'> & { readonly servedBy: 'lambda' | 'http' },
): Promise<void> {
  if (servedBy === 'http') await removeHandler(system, content.type)
  await deployType(system, { ...content, kind: servedBy === 'http' ? 'http' : 'handler' })
}

/** Registers the handler of a type. A type that is served over HTTP is put instead. */
export async function deployType(system: PlanningSystem, deployed: Deployed): Promise<void> {
  const { type } = deployed
  if (deployed.kind === 'http') await putType(system, type, configurationOf(deployed))
  else await registerHandlerType(system, type, configurationOf(deployed))
}

/** The configuration of a type. */
export function configurationOf({ kind, defaults, shards, limits, ordering }: Deployed): TypeConfiguration {
  return { kind, defaults, shards, ...(limits && { limits }), ...(ordering && { ordering }) }
}

export function deployFlow(system: PlanningSystem, { type, ...configuration }: FlowSetup): Promise<void> {
  return registerFlowType(system, type, { kind: 'flow', ...configuration })
}
