import type { TaskType, TypeConfiguration } from '../../core/types/task-type.ts'
import type { System } from '../kernel/system.ts'
import { applyTypeChange } from './apply-type-change.ts'
import { changeType } from './change-type.ts'

type RegistrarSystem = Pick<System, 'types' | 'clock' | 'messages'>

/**
 * Registers a type whose handler, or whose queue for workers, was deployed. Its configuration is the deployed
 * one from now on. `paused` stays as it is.
 */
export async function registerHandlerType(
  system: RegistrarSystem,
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
 * Registers a deployed flow. Only the types of its steps are served, so the flow itself has no handler, and an
 * earlier handler of its type no longer serves it.
 */
export async function registerFlowType(
  system: RegistrarSystem,
  type: string,
  configuration: TypeConfiguration,
): Promise<void> {
  await applyTypeChange(system, await changeType(system, type, () => ({ configuration })))
}

/**
 * Removes the handler of a type: its tasks wait visibly until a handler is deployed. An unknown type stays
 * unknown.
 */
export async function removeHandler(system: RegistrarSystem, type: string): Promise<void> {
  await changeType(system, type, stored => stored && { configuration: stored.configuration })
}
