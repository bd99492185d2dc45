import type { Stack } from '../template/stack.ts'
import type { Assembly } from '../template/template.ts'

/** A container service as its resources in the template describe it. */
export type ServiceSpec = {
  readonly logicalId: string
  /** The folder from which its image would be built. */
  readonly imageDir: string
  readonly environment: Readonly<Record<string, string>>
  /** The time from SIGTERM to SIGKILL. */
  readonly stopTimeoutMs: number
}

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
export function serviceSpecOf(
  stack: Stack,
  assembly: Assembly,
  logicalId: string,
  shared: Readonly<Record<string, string>>,
): ServiceSpec {
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
    imageDir: assembly.imageDirOf(container.Image),
    // No health check runs here, and all services of this machine share its `/tmp`.
    environment: { ...Object.fromEntries(own), ...shared, AWS_ACCESS_KEY_ID: logicalId, BATON_LIFE_FILE: '' },
    stopTimeoutMs: (container.StopTimeout ?? STOP_TIMEOUT_S) * 1_000,
  }
}
