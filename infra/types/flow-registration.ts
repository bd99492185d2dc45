import { Construct } from 'constructs'
import { defined } from '../../shared/core/defined.ts'
import { BatonError } from '../../shared/core/errors.ts'
import { CONFIGURATION_CHARACTERS_MAX } from '../bounds.ts'
import type { BundlingProps } from '../bundling/options.ts'
import type { Parts } from '../parts.ts'
import { readFlow, withProps } from './definition.ts'
import { refuseUnknown } from './refuse-props.ts'
import type { TypeRegistrar } from './types.ts'

export type FlowProps = {
  /** The file that exports the flow's definition, relative to the working directory. */
  readonly entry: string
  /** The name under which `entry` exports it, when it exports several flows. */
  readonly flow?: string
  /** Whether events of its tasks are published on the system's event bus. @default as the definition says, else false */
  readonly events?: boolean
  /** How the file is bundled to load it. @default as a handler without options */
  readonly bundling?: BundlingProps
}

/**
 * Registers a flow. Only the types of its steps serve it, so it has no queue and no function. It is registered after all
 * handlers of its system, so that the types of its steps exist first.
 */
export class FlowRegistration extends Construct {
  readonly type: string

  constructor(scope: Construct, id: string, { reach }: Parts, registrar: TypeRegistrar, props: FlowProps) {
    super(scope, id)
    refuseUnknown(props.entry, props, ['entry', 'flow', 'events', 'bundling'])
    const definition = withProps(
      readFlow(props.entry, props.flow, props.bundling),
      defined({ events: props.events }),
    )
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
    `the flow '${type}' has ${length} characters as JSON, and at most ${CONFIGURATION_CHARACTERS_MAX} can be deployed; give its steps smaller inputs`,
  )
}
