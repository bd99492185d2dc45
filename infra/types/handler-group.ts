import { Names } from 'aws-cdk-lib'
import type { Metric } from 'aws-cdk-lib/aws-cloudwatch'
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda'
import type { Queue } from 'aws-cdk-lib/aws-sqs'
import { Construct } from 'constructs'
import { BatonError } from '../../shared/core/errors.ts'
import { GROUPED_TYPES_MAX } from '../bounds.ts'
import type { Parts } from '../parts.ts'
import { type FoundDefinition, readDefinitions, refuseHttp, withProps } from './definition.ts'
import { filesLike } from './files-like.ts'
import type { FunctionProps } from './function-props.ts'
import { GROUP_NAMES, refuseFunctionProps, refuseTimeouts, refuseUnloadable } from './refuse-props.ts'
import type { TypeRegistrar } from './types.ts'
import { createUserFunction, feedFrom, type Served, type UserFunction } from './user-function.ts'

export type HandlersProps = FunctionProps & {
  /**
   * The files that export the definitions, relative to the working directory: paths or patterns such as `tasks/small/*.ts`. In a
   * pattern `*` stands for any part of a name, `**` for any folders, and `{ts,tsx}` for a choice. Tests and declarations
   * (`*.test.*`, `*.spec.*`, `*.d.ts`) match no pattern.
   */
  readonly entries: string | readonly string[]
}

/**
 * Serves many task types with one function. Each type keeps a queue, a registration and `maxConcurrency` of its own, so a backlog of
 * one delays no other. They share the function's memory, timeout, role and code.
 */
export class HandlerGroup extends Construct {
  readonly types: readonly GroupedType[]
  /** The function of all the types. Grant it what their handlers need. */
  readonly function: LambdaFunction

  constructor(scope: Construct, id: string, parts: Parts, registrar: TypeRegistrar, group: Group) {
    super(scope, id)
    const { props, entry, definitions } = group
    const served = createUserFunction(this, parts, { entry, name: Names.uniqueId(this), definitions }, props)
    this.function = served.fn
    const types = new Construct(this, 'Types')
    this.types = definitions.map(
      definition =>
        new GroupedType(types, definition.type, parts, registrar, {
          ...{ definition, served, props: { ...props, entry } },
          share: definitions.length,
        }),
    )
  }
}

/** What a group serves, as its files say. */
export type Group = {
  readonly props: HandlersProps
  /** The files, in errors. */
  readonly entry: string
  readonly definitions: Served
}

/**
 * Reads the definitions of a group, whose number decides where its function stands.
 *
 * @throws BatonError `invalid` for options that are not legal, and for files that define no task, too many, or one twice.
 */
export function readGroup(props: HandlersProps): Group {
  const entry = [props.entries].flat().join(', ')
  refuseUnloadable(entry, props, GROUP_NAMES)
  refuseFunctionProps(entry, props)
  return { props, entry, definitions: definitionsIn(entry, props) }
}

type GroupedTypeSpec = {
  readonly definition: FoundDefinition
  readonly served: UserFunction
  readonly props: FunctionProps & { readonly entry: string }
  readonly share: number
}

/** One of the types that share a function. */
export class GroupedType extends Construct {
  readonly type: string
  readonly queue: Queue
  /** The dead-letter queue of the system. All queues share it. */
  readonly deadLetterQueue: Queue

  constructor(scope: Construct, id: string, parts: Parts, registrar: TypeRegistrar, spec: GroupedTypeSpec) {
    super(scope, id)
    this.type = spec.definition.type
    const source = feedFrom(this, parts, registrar, spec)
    this.queue = source.queue
    this.deadLetterQueue = source.deadLetterQueue
  }

  /** Returns the metric of the messages that wait in the queue. */
  metricBacklog(): Metric {
    return this.queue.metricApproximateNumberOfMessagesVisible()
  }
}

function definitionsIn(entry: string, props: HandlersProps): Served {
  const { entries, bundling, timeout } = props
  const definitions = filesLike([entries].flat()).flatMap(file =>
    readDefinitions(file, bundling).map(definition => {
      refuseHttp(definition)
      refuseTimeouts(file, definition, timeout)
      return withProps(definition, props)
    }),
  )
  refuseTwice(entry, definitions)
  const [first, ...others] = definitions
  if (first && others.length < GROUPED_TYPES_MAX) return [first, ...others]
  const problem = `must name 1–${GROUPED_TYPES_MAX} types for one function, not ${definitions.length}; use several addHandlers`
  throw new BatonError('invalid', `${entry}: entries ${problem}`)
}

function refuseTwice(entry: string, definitions: readonly FoundDefinition[]): void {
  const twin = definitions.find(
    (one, index) => definitions.findIndex(({ type }) => type === one.type) < index,
  )
  if (twin) throw new BatonError('invalid', `${entry}: entries name the type '${twin.type}' twice`)
}
