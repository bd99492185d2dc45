import { existsSync } from 'node:fs'
import { ArnFormat, Names, Stack } from 'aws-cdk-lib'
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda'
import { expand } from 'brace-expansion'
import { Construct } from 'constructs'
import { globSync, isDynamicPattern } from 'tinyglobby'
import { queueNameOf } from '../../shared/core/types/task-type.ts'
import { WEBHOOK_CONFIGURATION, WEBHOOK_TYPE } from '../../shared/core/types/webhook.ts'
import { illegal } from '../../shared/core/values/values.ts'
import type { SystemFunction } from '../bundling/bundling.ts'
import { allow } from '../permissions/permissions.ts'
import type { Parts, SourceQueue } from '../queues.ts'
import type { FoundDefinition, TaskSpec } from './definition.ts'
import { readDefinition, readDefinitions, refuseHttp, withProps } from './definition.ts'
import type { FunctionProps } from './function-rules.ts'
import {
  GROUP_NAMES,
  HANDLER_NAMES,
  refuseFunctionProps,
  refuseTimeouts,
  refuseUnloadable,
} from './refuse-props.ts'
import { QueuedType, type TypeRegistrar } from './types.ts'
import { createUserFunction, type Feed, feedFrom, type Served } from './user-function.ts'

export type HandlerProps = FunctionProps & {
  /** The file that exports the task's definition, relative to the working directory. */
  readonly entry: string
  /** The name under which `entry` exports it, when it exports several. */
  readonly task?: string
}

/** A handler that ships with the system: its code is one of the system's functions, and its definition is known. */
type Shipped = { readonly code: SystemFunction; readonly definition: TaskSpec }

type AnyHandlerProps = HandlerProps & { readonly shipped?: Shipped }

/**
 * Serves a task type with a function, the queue that feeds it, and the registration of the type. Moving a type to another
 * construct id takes two deployments, because its queue's name is fixed.
 */
export class HandlerFunction extends QueuedType {
  readonly type: string
  /** The handler's function. Grant it what the handler needs. */
  readonly function: LambdaFunction
  protected readonly source: SourceQueue

  constructor(scope: Construct, id: string, parts: Parts, registrar: TypeRegistrar, given: AnyHandlerProps) {
    super(scope, id)
    const { shipped, ...props } = given
    refuseUnloadable(props.entry, props, HANDLER_NAMES)
    const definition = withProps(definitionOf(given), props)
    refuseHttp(definition)
    refuseFunctionProps(`${props.entry}, task '${definition.type}'`, props)
    refuseTimeouts(props.entry, definition, props.timeout)
    this.type = definition.type
    const served = createUserFunction(
      this,
      parts,
      {
        entry: props.entry,
        name: queueNameOf(parts.settings.system, this.type),
        definitions: [definition],
        shipped: shipped?.code,
      },
      props,
    )
    this.function = served.fn
    this.source = feedFrom(this, parts, registrar, { definition, served, props })
  }
}

function definitionOf({ entry, task, bundling, shipped }: AnyHandlerProps): FoundDefinition {
  if (!shipped) return readDefinition(entry, task, bundling)
  return { ...shipped.definition, file: entry, exportName: shipped.definition.type }
}

const SHIPPED: Shipped = {
  code: 'webhook',
  definition: { type: WEBHOOK_TYPE, config: WEBHOOK_CONFIGURATION },
}

/** The shipped handler of all types of kind `webhook`. It may read the secrets that sign its calls: those named `<system>/webhook/…`. */
export class WebhookHandler extends HandlerFunction {
  constructor(scope: Construct, id: string, parts: Parts, registrar: TypeRegistrar) {
    super(scope, id, parts, registrar, { entry: 'the shipped webhook', shipped: SHIPPED })
    const secrets = Stack.of(this).formatArn({
      service: 'secretsmanager',
      resource: 'secret',
      resourceName: `${parts.settings.system}/webhook/*`,
      arnFormat: ArnFormat.COLON_RESOURCE_NAME,
    })
    allow(this.function, { actions: ['secretsmanager:GetSecretValue'], resources: [secrets] })
  }
}

/** The most types of one function. With type names of 100 characters, its role needs six of the ten managed policies of a role. */
const GROUPED_TYPES_MAX = 30

export type HandlersProps = FunctionProps & {
  /**
   * The files that export the definitions, relative to the working directory: paths or patterns such as `tasks/small/*.ts`. In a
   * pattern `*` stands for any part of a name, `**` for any folders, and `{ship,small-*}` for a choice, each of which must match a file.
   * Tests and declarations (`*.test.*`, `*.spec.*`, `*.d.ts`) match no pattern.
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
          ...{ definition, served, share: definitions.length },
          props: { ...props, entry },
        }),
    )
  }
}

/** What a group serves, as its files say. */
type Group = ReturnType<typeof readGroup>

/**
 * Reads the definitions of a group, whose number decides in which stack its function is.
 *
 * @throws BatonError `invalid` for options that are not legal, and for files that define no task, too many, or one twice.
 */
export function readGroup(props: HandlersProps) {
  const entry = [props.entries].flat().join(', ')
  refuseUnloadable(entry, props, GROUP_NAMES)
  refuseFunctionProps(entry, props)
  return { props, entry, definitions: definitionsIn(entry, props) }
}

/** One of the types that share a function. */
export class GroupedType extends QueuedType {
  readonly type: string
  protected readonly source: SourceQueue

  constructor(scope: Construct, id: string, parts: Parts, registrar: TypeRegistrar, spec: Feed) {
    super(scope, id)
    this.type = spec.definition.type
    this.source = feedFrom(this, parts, registrar, spec)
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
  throw illegal(`${entry}: entries ${problem}`)
}

function refuseTwice(entry: string, definitions: readonly FoundDefinition[]): void {
  const twin = definitions.find(
    (one, index) => definitions.findIndex(({ type }) => type === one.type) < index,
  )
  if (twin) throw illegal(`${entry}: entries name the type '${twin.type}' twice`)
}

const NO_ENTRY = /(\.d\.[cm]?ts|\.(test|spec)\.[^.]+)$|(^|\/)node_modules\//

/**
 * Returns the files that match the patterns, sorted, each once, relative to the working directory. A pattern without wildcards, or
 * with the path of a file that exists, is that one file.
 *
 * @throws BatonError `invalid` for a pattern, or a choice of its braces, that matches no file.
 */
function filesLike(patterns: readonly string[]): string[] {
  if (patterns.length === 0) throw illegal('entries is an empty list; name at least one file')
  return [...new Set(patterns.flatMap(matching))].sort()
}

function matching(pattern: string): string[] {
  return isDynamicPattern(pattern) && !existsSync(pattern)
    ? expand(pattern).flatMap(choice => matchingChoice(choice, pattern))
    : [pattern]
}

function matchingChoice(choice: string, pattern: string): string[] {
  const files = globSync(choice, { ignore: ['**/node_modules/**'], expandDirectories: false }).filter(
    file => !NO_ENTRY.test(file),
  )
  if (files.length > 0) return files
  const part = choice === pattern ? '' : `, a choice of '${pattern}',`
  throw illegal(`entries: no file matches '${choice}'${part} in ${process.cwd()}`)
}
