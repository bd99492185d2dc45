import type { TaskType, TypeConfiguration } from '../../core/types/task-type.ts'
import type { System } from '../kernel/system.ts'
import { applyTypeChange } from './apply-type-change.ts'
import { changeType } from './change-type.ts'

type Deploying = Pick<System, 'types' | 'clock' | 'messages'>

/**
 * A type's handler was deployed, or the queue that workers serve it from: its configuration is the deployed one from now
 * on. `paused` stays as it is.
 */
export async function registerHandlerType(
  system: Deploying,
  type: string,
  configuration: TypeConfiguration,
  {
    servedBy,
    version,
  }: { readonly servedBy?: TaskType['servedBy']; readonly version?: string | undefined } = {},
): Promise<void> {
  const changed = await changeType(system, type, () => ({
    configuration,
    handlerSince: system.clock.now(),
    ...(servedBy && { servedBy }),
    ...(version !== undefined && { handlerVersion: version }),
  }))
  await applyTypeChange(system, changed)
}

/**
 * A flow was deployed: its type is known from now on. Nobody serves a flow but the types of its steps, so it has no
 * handler, and none of its type that was there serves it any more.
 */
export async function registerFlowType(
  system: Deploying,
  type: string,
  configuration: TypeConfiguration,
): Promise<void> {
  await applyTypeChange(system, await changeType(system, type, () => ({ configuration })))
}

/** A type's handler was taken away: its tasks wait, visibly, until one is deployed. Unknown types stay unknown. */
export async function removeHandler(system: Deploying, type: string): Promise<void> {
  await changeType(system, type, stored => stored && { configuration: stored.configuration })
}
