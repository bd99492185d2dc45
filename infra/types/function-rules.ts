import { existsSync } from 'node:fs'
import { type Duration, type Size, Token } from 'aws-cdk-lib'
import { Architecture, CfnLayerVersion, type ILayerVersion } from 'aws-cdk-lib/aws-lambda'
import { listOf, optionals, strict } from '../../shared/core/rules/compound.ts'
import { inside, isObject, type Rule, unless } from '../../shared/core/rules/rules.ts'
import { flag, oneOf, text, whole } from '../../shared/core/rules/scalars.ts'
import type { FieldProblem } from '../../shared/core/values/values.ts'
import type { BundlingProps } from '../bundling/esbuild.ts'
import type { FunctionPlacement } from '../functions/functions.ts'
import type { MappingOptions } from '../queues.ts'
import type { LogLevel } from '../settings.ts'

/** Lambda's smallest `/tmp`. Source: Lambda quotas. */
const STORAGE_MB_MIN = 512
/** Lambda's largest `/tmp`. Source: Lambda quotas. */
const STORAGE_MB_MAX = 10_240
/** The most layers of one function. Source: Lambda quotas. */
const LAYERS_MAX = 5

/** What the options of a function that bring code, network and machine may be. `refuse-props.ts` has the numbers. */

const MODULES_MAX = 100

const packageName = text("the name of a package, such as 'sharp' or '@scope/name'", name =>
  /^(@[a-z0-9-~][\w.~-]*\/)?[a-z0-9-~][\w.~-]*$/i.test(name),
)
const pattern = text("the name of a package or a pattern, such as '@aws-sdk/*'", name => name.trim() !== '')
const loader = oneOf(
  ...(['base64', 'binary', 'copy', 'css', 'dataurl', 'default', 'empty', 'file', 'global-css'] as const),
  ...(['js', 'json', 'jsx', 'local-css', 'text', 'ts', 'tsx'] as const),
)

/** An object of any names with values of one rule. */
function recordOf(value: Rule, expected: string, nameFits: (name: string) => boolean = () => true): Rule {
  return {
    expected,
    schema: { type: 'object', additionalProperties: value.schema },
    problems: (given, path) => {
      if (!isObject(given)) return unless(false, expected, given, path)
      return Object.entries(given).flatMap(([name, member]) =>
        nameFits(name)
          ? Token.isUnresolved(member)
            ? []
            : value.problems(member, inside(path, name))
          : unless(false, expected, name, path),
      )
    },
  }
}

/** An object of texts, such as an environment. */
export const textsRule = recordOf(
  text('a text', () => true),
  'an object of texts',
)

export const bundlingRule = strict(
  optionals({
    nodeModules: listOf(packageName, { max: MODULES_MAX }),
    externalModules: listOf(pattern, { max: MODULES_MAX }),
    loader: recordOf(loader, "an object of loaders by extensions, such as { '.html': 'text' }", name =>
      /^\.[\w.-]+$/.test(name),
    ),
    define: textsRule,
    minify: flag(),
    sourceMap: flag(),
    target: text("a language level of esbuild, such as 'node24'", name => name.trim() !== ''),
    tsconfig: text('the path of a file', existsSync),
  }),
)

export function placementProblems(props: FunctionProps): FieldProblem[] {
  const { architecture = Architecture.ARM_64, ephemeralStorageSize } = props
  return [
    ...architectureProblems(architecture),
    ...(props.layers ?? []).flatMap((layer, index) =>
      layerProblems(layer as ILayerVersion, architecture, index),
    ),
    ...unless(
      (props.layers?.length ?? 0) <= LAYERS_MAX,
      `at most ${LAYERS_MAX} layers`,
      props.layers,
      'layers',
    ),
    ...(ephemeralStorageSize ? storageProblems(ephemeralStorageSize) : []),
    ...(props.vpc ? [] : networkProblems(props)),
  ]
}

const ARCHITECTURES = [Architecture.ARM_64, Architecture.X86_64].map(({ name }) => name)

/** The problems of an architecture that the compiler would have refused. */
export function architectureProblems(architecture: unknown): FieldProblem[] {
  const { name } = (architecture ?? {}) as { readonly name?: string }
  const expected = 'Architecture.ARM_64 or Architecture.X86_64'
  return unless(ARCHITECTURES.includes(name ?? ''), expected, name ?? architecture, 'architecture')
}

/** CDK checks a layer's runtimes only. A layer that the app imports does not say for which processors it is. */
function layerProblems(layer: ILayerVersion, { name }: Architecture, index: number): FieldProblem[] {
  const { defaultChild } = layer.node
  const compatible =
    defaultChild instanceof CfnLayerVersion ? defaultChild.compatibleArchitectures : undefined
  if (!compatible || compatible.includes(name)) return []
  const message = `must be a layer for ${name}, the function's architecture, not for ${compatible.join(', ')}`
  return [{ path: `layers.${index}`, message }]
}

function storageProblems(size: Size): FieldProblem[] {
  if (size.isUnresolved()) return []
  const megabytes = size.toMebibytes({ rounding: 0 })
  return whole(STORAGE_MB_MIN, STORAGE_MB_MAX, ' of megabytes').problems(megabytes, 'ephemeralStorageSize')
}

function networkProblems(props: FunctionProps): FieldProblem[] {
  const names = ['vpcSubnets', 'securityGroups', 'allowPublicSubnet'] as const
  return names.flatMap(path =>
    props[path] === undefined ? [] : [{ path, message: 'is given without vpc, which it belongs to' }],
  )
}

/** The options of a function that runs users' handlers. */
export type FunctionProps = FunctionPlacement &
  Partial<MappingOptions> & {
    /** Whether events of its tasks are published on the system's event bus. @default as the definition says, else false */
    readonly events?: boolean
    /** Megabytes, 128–10,240. @default 512 */
    readonly memorySize?: number
    /**
     * The timeout of one invocation, at most 15 minutes.
     * @default 15 s more than the definition's `timeoutMs`, else 5 minutes
     */
    readonly timeout?: Duration
    readonly reservedConcurrency?: number
    /**
     * The tasks a second that each of its types has at its peak. It sets the type's `shards`, and with the tasks of all handlers the warm
     * throughput of the table. A number may grow; a smaller one changes nothing that is deployed.
     * @default 4 shards, which serve some 500 tasks a second
     */
    readonly expectedTasksPerSecond?: number
    /** The least level of log lines. At `INFO` there is one line per run. @default the system's `logLevel`, else 'INFO' */
    readonly logLevel?: LogLevel
    /** Dotted numbers. Tasks with a higher `minWorkerVersion` wait until such a version is deployed. @default none */
    readonly version?: string
    readonly environment?: Readonly<Record<string, string>>
    /** How its code is bundled. @default everything is bundled by esbuild into one minified file */
    readonly bundling?: BundlingProps
    /**
     * The other types whose tasks its code publishes or whose results it reads. Flows that the app adds need not be
     * listed. A flow that is registered over HTTP must be listed if the types of the code do its steps. With an empty list, the
     * code reaches tasks of its own types only. All tasks of the types that it reaches are then bound to what it reaches: see
     * "What a head may name" in docs/permissions.md.
     * @default any
     */
    readonly otherTypes?: readonly string[]
  }
