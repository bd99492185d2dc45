import { type CfnResource, Duration } from 'aws-cdk-lib'
import { Architecture, type Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda'
import type { Construct } from 'constructs'
import { queueNameOf } from '../../shared/core/types/task-type.ts'
import { defined, illegal } from '../../shared/core/values/values.ts'
import { FUNCTION_TIMEOUT_S_MAX, HANDLER_MARGIN_S, MAPPING_CONCURRENCY_MIN } from '../bounds.ts'
import type { SystemFunction, UserCode } from '../bundling/bundling.ts'
import { describeBundle, handlerCode, systemCode } from '../bundling/bundling.ts'
import { cpuOf, createFunction } from '../functions/functions.ts'
import { grantTableToWorker, typesWithin } from '../permissions/table-access.ts'
import { type Parts, SourceQueue, visibilityFor } from '../queues.ts'
import { levelOf } from '../settings.ts'
import type { FoundDefinition } from './definition.ts'
import type { FunctionProps } from './function-rules.ts'
import { WORKER_VERSION } from './refuse-props.ts'
import type { TypeRegistrar } from './types.ts'

/** The timeout of a handler's function when its task sets no `timeoutMs`. */
const HANDLER_TIMEOUT_S = 300
/**
 * Concurrent batches of a handler's mapping by default. Every mapping has such a maximum. Without it a full account throttles
 * the poller, each throttle counts as a receive, and good messages end in the dead-letter queue. Source: Lambda with SQS,
 * maximum concurrency (2–1,000).
 */
const HANDLER_CONCURRENCY_MAX = 50

/** The definitions that one function serves, all of kind `handler`, or the one of kind `webhook`. */
export type Served = readonly [FoundDefinition, ...FoundDefinition[]]

type UserFunctionSpec = {
  /** The entry, as the app names it. */
  readonly entry: string
  /** A name for its code that is unique in the project. */
  readonly name: string
  readonly definitions: Served
  /** The system's function that is its code, instead of the files of the definitions. */
  readonly shipped?: SystemFunction | undefined
}

/** A function that runs handlers, and the timeout from which the visibility of its queues follows. */
type UserFunction = { readonly fn: LambdaFunction; readonly timeout: Duration }

/** Creates the function of one or several types, with the permissions of a worker. `feedFrom` connects it to their queues. */
export function createUserFunction(
  scope: Construct,
  parts: Parts,
  { entry, name, definitions, shipped }: UserFunctionSpec,
  props: FunctionProps,
): UserFunction {
  const timeout = props.timeout ?? timeoutOf(definitions)
  const { architecture = Architecture.ARM_64, bundling } = props
  const code: UserCode = { title: entry, name, definitions, cpu: cpuOf(architecture), bundling }
  const fn = createFunction(scope, parts.settings, {
    code: shipped ? systemCode(scope, shipped) : handlerCode(scope, code),
    description: descriptionOf(definitions),
    timeout,
    logLevel: levelOf(props.logLevel) ?? parts.settings.handlerLogLevel,
    memorySize: props.memorySize,
    environment: { ...props.environment, ...defined({ [WORKER_VERSION]: props.version }) },
    reservedConcurrency: props.reservedConcurrency,
    placement: { ...props, architecture },
  })
  if (!shipped) describeBundle(fn.node.defaultChild as CfnResource, code)
  openTo(fn, parts, definitions, props.otherTypes)
  return { fn, timeout }
}

/** Creates the queue of one type, feeds the function from it, and registers the type. */
export function feedFrom(
  scope: Construct,
  { settings, messages, table }: Parts,
  registrar: TypeRegistrar,
  { definition, served: { fn, timeout }, props, share = 1 }: Feed,
): SourceQueue {
  const source = new SourceQueue(scope, 'Tasks', messages.deadLetters, {
    queueName: queueNameOf(settings.system, definition.type),
    visibilityTimeout: visibilityFor(timeout),
  })
  messages.openTo(fn, { dispatchesTo: source.queue })
  table.expect(props.expectedTasksPerSecond)
  const mapping = source.feed(fn, {
    maxConcurrency: maxConcurrencyOf(props, share),
    ...defined({ batchSize: props.batchSize }),
  })
  // The type is registered after its mapping is created, and unregistered before the mapping is deleted.
  registrar
    .register(scope, 'Registration', definition, { version: props.version })
    .node.addDependency(mapping)
  return source
}

export type Feed = {
  readonly definition: FoundDefinition
  readonly served: UserFunction
  readonly props: FunctionProps & { readonly entry: string }
  /** The number of types that share the function. @default 1 */
  readonly share?: number
}

function openTo(
  fn: LambdaFunction,
  parts: Parts,
  definitions: Served,
  otherTypes: readonly string[] | undefined,
): void {
  // Types of kind `webhook` are registered over HTTP, so their names are not known here.
  const isOfManyTypes = definitions.some(({ config }) => config.kind === 'webhook')
  grantTableToWorker(fn, parts, {
    types: isOfManyTypes ? 'any' : definitions.map(({ type }) => type),
    others: otherTypes ? typesWithin('otherTypes', otherTypes) : 'any',
    isRegistered: false,
  })
  parts.table.nameTo(fn)
}

const DESCRIPTION_CHARACTERS_MAX = 256

function descriptionOf(definitions: Served): string {
  const text = `Baton: runs ${definitions.map(({ type }) => type).join(', ')}`
  if (text.length <= DESCRIPTION_CHARACTERS_MAX) return text
  return `Baton: runs ${definitions[0].type} and ${definitions.length - 1} other types`
}

/**
 * Lambda throttles a poller above the reserved concurrency. Each throttle counts as a receive, so good messages would end as dead letters.
 */
function maxConcurrencyOf(
  { entry, maxConcurrency, reservedConcurrency }: Feed['props'],
  share: number,
): number {
  const most = Math.floor((reservedConcurrency ?? Number.POSITIVE_INFINITY) / share)
  const wanted = maxConcurrency ?? Math.min(HANDLER_CONCURRENCY_MAX, most)
  if (wanted <= most && wanted >= MAPPING_CONCURRENCY_MIN) return wanted
  const least = Math.max(maxConcurrency ?? MAPPING_CONCURRENCY_MIN, MAPPING_CONCURRENCY_MIN) * share
  const of = share > 1 ? ` for ${share} types` : ''
  const reason = maxConcurrency === undefined ? `${least}${of}` : `maxConcurrency${of}, which is ${least}`
  throw illegal(`${entry}: reservedConcurrency must be at least ${reason}, not ${reservedConcurrency}`)
}

/** The tasks of a batch run concurrently, so a batch takes as long as its longest task. */
function timeoutOf(definitions: Served): Duration {
  const seconds = definitions.map(({ config: { defaults } }) =>
    defaults.timeoutMs === undefined
      ? HANDLER_TIMEOUT_S
      : Math.min(Math.ceil(defaults.timeoutMs / 1_000) + HANDLER_MARGIN_S, FUNCTION_TIMEOUT_S_MAX),
  )
  return Duration.seconds(Math.max(...seconds))
}
