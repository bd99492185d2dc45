import type { Stack } from '../template/stack.ts'
import type { Assembly } from '../template/template.ts'

/** A container service as its resources describe it. */
export type ServiceSpec = {
  readonly logicalId: string
  /** The folder its image would be built from. */
  readonly imageDir: string
  readonly environment: Readonly<Record<string, string>>
  /** From SIGTERM to SIGKILL. */
  readonly stopTimeoutMs: number
}

type Container = {
  readonly Image: string
  readonly Environment?: ReadonlyArray<{ readonly Name: string; readonly Value: unknown }>
  readonly StopTimeout?: number
}

/** ECS's own where a task definition is silent. */
const STOP_TIMEOUT_S = 30

/**
 * What the one container of a service is started with. `shared` comes after the template's own variables, and the
 * access key is the service's logical id, by which the gateway knows who calls.
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
    environment: { ...Object.fromEntries(own), ...shared, AWS_ACCESS_KEY_ID: logicalId },
    stopTimeoutMs: (container.StopTimeout ?? STOP_TIMEOUT_S) * 1_000,
  }
}
