import type { Duration } from 'aws-cdk-lib'
import type { BundlingProps } from '../bundling/options.ts'
import type { FunctionPlacement } from '../functions/placement.ts'
import type { MappingOptions } from '../queues/source-queue.ts'
import type { LogLevel } from '../settings.ts'

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
     * The tasks a second that each of its types has at its peak. It sets the type's `shards`, and with those of all handlers the warm
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
     * listed. A flow that is registered over HTTP must be listed if the function's types do its steps. With an empty list, the code
     * reaches tasks of its own types only.
     * @default any
     */
    readonly otherTypes?: readonly string[]
  }
