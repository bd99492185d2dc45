import { Construct } from 'constructs'
import { BatonError } from '../../shared/core/errors.ts'
import { CONFIGURATION_CHARACTERS_MAX } from '../bounds.ts'
import type { Parts } from '../parts.ts'
import { readFlow, withEvents } from './definition.ts'
import type { TypeRegistrar } from './types.ts'

export type FlowProps = {
  /** The file that exports the flow's definition, relative to the working directory. */
  readonly entry: string
  /** The name under which `entry` exports it, when it exports several flows. */
  readonly flow?: string
  /** Whether what happens to its tasks is told on the system's event bus. @default what the definition says, else false */
  readonly events?: boolean
}

/**
 * Makes a flow known to the system. Nothing serves a flow but the types of its steps, so it has no queue and no function;
 * it is registered after all handlers of its system, so that its steps are known first.
 */
export class FlowRegistration extends Construct {
  readonly type: string

  constructor(
    scope: Construct,
    id: string,
    { reach }: Parts,
    registrar: TypeRegistrar,
    { entry, flow, events }: FlowProps,
  ) {
    super(scope, id)
    const definition = withEvents(readFlow(entry, flow), events)
    refuseLarge(definition.type, JSON.stringify(definition.config).length)
    this.type = definition.type
    reach.add(this.type, definition.config.steps)
    registrar.registerFlow(this, 'Registration', definition)
  }
}

function refuseLarge(type: string, length: number): void {
  if (length <= CONFIGURATION_CHARACTERS_MAX) return
  throw new BatonError(
    'invalid',
    `the flow '${type}' is ${length} characters of JSON; ${CONFIGURATION_CHARACTERS_MAX} can be deployed, so give its steps smaller inputs`,
  )
}
