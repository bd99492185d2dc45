/**
 * Deployed systems. Only this folder of the command line uses parts of the AWS SDK. It is a bundle of its own with these parts inside, so
 * users install no SDK, and a command loads it only when it needs it.
 *
 * - `access.ts`: the region and the credentials of the user, found as the AWS CLI finds them;
 * - `call.ts`: a call of an AWS service by a client of the SDK;
 * - `stacks.ts`: reads a stack with its outputs from CloudFormation, and chooses the task system that the outputs name;
 * - `resources.ts`, `functions.ts`: the resources of a stack and their states, for `baton doctor`;
 * - `explain-refusal.ts`: why the API refused a signed call; `credential-faults.ts`: what is wrong with refused credentials.
 */

import { signedFetch } from '../../shared/client/signed/signed-fetch.ts'
import type { Io } from '../terminal/io.ts'
import { type AccessOptions, credentialsOf, regionFor, regionNamedBy } from './access.ts'
import type { Access } from './call.ts'
import { explainingRefusals } from './explain-refusal.ts'
import {
  type FunctionState,
  type QueueState,
  type RingingAlarm,
  readBootstrapVersion,
  readFunctions,
  readQueues,
  readResources,
  readRingingAlarms,
  readTriggers,
  type TriggerState,
} from './resources.ts'
import { chooseSystem, type ReadStack, readStack, type TaskSystemOutputs } from './stacks.ts'

type Send = (request: Request) => Promise<Response>

/** A task system in an AWS account. */
export type DeployedSystem = TaskSystemOutputs & {
  readonly stack: string
  readonly region: string
  /** The number of the account; empty if unknown. */
  readonly account: string
  /** Such as `UPDATE_COMPLETE`. */
  readonly stackStatus: string
  /** The parameter with the version of the CDK's bootstrap, as the template of the stack says. */
  readonly bootstrap?: string
  readonly look: Looks
}

/** Reads of the state of a stack. Each throws `BatonError` when a service refuses the credentials or does not answer. */
type Looks = {
  /** The present version of the CDK's bootstrap; undefined when there is none. */
  bootstrapVersion(): Promise<string | undefined>
  functions(): Promise<FunctionState[]>
  triggers(): Promise<TriggerState[]>
  queues(): Promise<QueueState[]>
  /** The alarms that have gone off. */
  ringingAlarms(): Promise<RingingAlarm[]>
}

/**
 * Finds the task system of a stack. `named` is the name or the ARN of the stack, or `STACK/SYSTEM`. The second answer signs requests to
 * its API.
 *
 * @throws BatonError as `connect` of `../connection/connection.ts` says
 */
export async function findDeployed(
  named: string,
  options: AccessOptions,
  io: Io,
): Promise<{ readonly system: DeployedSystem; readonly fetch: Send }> {
  const [stack = '', name] = named.startsWith('arn:') ? [named] : named.split('/', 2)
  const region = await regionFor(options, '--stack')
  const credentials = await credentialsOf(options)
  const access = { region, credentials, io, ...profileIn(options) }
  const read = await readStack(stack, access)
  const sign = signedFetch({ region, credentials, fetch: io.fetch })
  return {
    system: {
      ...chooseSystem(read, name),
      stack: read.name,
      region,
      account: read.account,
      stackStatus: read.status,
      ...(read.bootstrap && { bootstrap: read.bootstrap }),
      look: looksAt(read, access),
    },
    fetch: explainingRefusals(sign, { ...access, asksAws: true }),
  }
}

/** The resources are listed once for all looks. */
function looksAt({ name, bootstrap }: ReadStack, access: Access): Looks {
  let listed: ReturnType<typeof readResources> | undefined
  const look =
    <State>(read: (resources: Awaited<ReturnType<typeof readResources>>, access: Access) => Promise<State>) =>
    async () => {
      listed ??= readResources(name, access)
      return read(await listed, access)
    }
  return {
    bootstrapVersion: async () => (bootstrap ? readBootstrapVersion(bootstrap, access) : undefined),
    functions: look(readFunctions),
    triggers: look(readTriggers),
    queues: look(readQueues),
    ringingAlarms: look(readRingingAlarms),
  }
}

/** Makes a `fetch` that signs requests to the API at this address with the user's credentials. */
export async function signedFetchTo(url: string, options: AccessOptions, io: Io): Promise<Send> {
  const region = options.region ?? regionNamedBy(url) ?? (await regionFor(options, url))
  const credentials = await credentialsOf(options)
  const sign = signedFetch({ region, credentials, fetch: io.fetch })
  const access = { region, credentials, io, ...profileIn(options) }
  return explainingRefusals(sign, { ...access, asksAws: mayBeDeployed(url) })
}

function profileIn({ profile }: AccessOptions): Pick<Access, 'profile'> {
  return profile === undefined ? {} : { profile }
}

/** API Gateway has `https:` addresses only, and none of this machine. The local system has credentials of its own. */
function mayBeDeployed(url: string): boolean {
  const { protocol, hostname } = new URL(url)
  return protocol === 'https:' && !['localhost', '127.0.0.1', '[::1]'].includes(hostname)
}
