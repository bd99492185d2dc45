import type { TypeKind } from '../../core/states.ts'
import type { TypeConfiguration } from '../../core/types/task-type.ts'
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
  }: { readonly servedBy?: 'workers' | undefined; readonly version?: string | undefined } = {},
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
 * Registers a deployed flow. Its steps serve it, so the flow itself has no handler, and an earlier handler of its type
 * no longer serves it.
 */
export async function registerFlowType(
  system: RegistrarSystem,
  type: string,
  configuration: TypeConfiguration,
): Promise<void> {
  await applyTypeChange(system, await changeType(system, type, () => ({ configuration, servedBy: 'steps' })))
}

/**
 * Removes the handler of a type: its tasks wait visibly until a handler is deployed. A removed flow stays registered, as
 * every type does. An unknown type stays unknown. A deployment that makes a flow of a type, or ends that, removes the former
 * resource last; its `kind` shows that the present one stays.
 */
export async function removeHandler(
  system: RegistrarSystem,
  type: string,
  kind: TypeKind = 'handler',
): Promise<void> {
  await changeType(system, type, stored => {
    const isPresent = (stored?.configuration.kind === 'flow') === (kind === 'flow')
    return stored && isPresent ? { configuration: stored.configuration } : undefined
  })
}
