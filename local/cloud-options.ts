import type { LogReceiver } from './log-line.ts'

export type LocalCloudOptions = {
  /** The synthesised cloud assembly (`cdk.out`). */
  readonly assemblyDir: string
  readonly stackName: string
  /** Port of the HTTP API on 127.0.0.1; 0 for any free one. @default 7070 */
  readonly apiPort?: number
  /** Further host names under which the HTTP API is reached, e.g. from a container; with a port if it differs. */
  readonly allowedHosts?: readonly string[]
  /** The folder of the built dashboard, which the address of the HTTP API then serves at `/`. @default no dashboard */
  readonly dashboardDir?: string
  /** `iam`: the HTTP API demands signatures, as the deployed one does. A wrong signature is refused in any case. @default none demanded */
  readonly auth?: 'iam'
  /** The folder that keeps tables, queues, schedules, custom resources and the access key. Without it all is in memory. */
  readonly dataDir?: string
  /** How many processes a function may have. Its `ReservedConcurrentExecutions` may lower the number. @default 6 */
  readonly maxSandboxesPerFunction?: number
  /** Receives every line that functions, services and the cloud itself write. */
  readonly log?: LogReceiver
  /** Whether container services run, each as one process. @default true */
  readonly services?: boolean
  /** The port of a DynamoDB Local that runs already. The tables are kept there, apart from those of other clouds. */
  readonly dynamoDbPort?: number
  /** Variables that every function and service gets. */
  readonly environment?: Readonly<Record<string, string>>
  /**
   * Gives the folder with a function's code. It is called when the function starts its first process, and again after a deployment
   * that has changed the function's code in the template. Undefined stands for the code in the template. When the promise
   * rejects, the invocation fails with the reason, its messages wait, and the next process asks again.
   */
  readonly code?: (
    logicalId: string,
    metadata: Readonly<Record<string, unknown>>,
  ) => Promise<string> | undefined
  /**
   * The function, by its logical id, that a debugger may attach to, and the port on 127.0.0.1. It runs in one process at a time,
   * and its invocations have no timeout. The lease of a task ends all the same while its run is stopped at a breakpoint.
   */
  readonly inspect?: { readonly functionId: string; readonly port: number }
}
