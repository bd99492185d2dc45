/**
 * Deployed systems. Only this folder of the command line uses parts of the AWS SDK. It is a bundle of its own with these parts inside, so
 * users install no SDK, and a command loads it only when it needs it.
 *
 * - `access.ts`: the region and the credentials of the user, found as the AWS CLI finds them;
 * - `query.ts`: calls of AWS services that answer in XML, signed by `signedFetch`;
 * - `stacks.ts`: reads a stack with its outputs from CloudFormation, and its alarms from CloudWatch;
 * - `task-systems.ts`: the task systems that the outputs of a stack name.
 */

import { regionOf } from '../../shared/signed-fetch/region.ts'
import { signedFetch } from '../../shared/signed-fetch/signed-fetch.ts'
import type { Io } from '../terminal/io.ts'
import { type AccessOptions, credentialsOf, regionFor } from './access.ts'
import { type RingingAlarm, readRingingAlarms, readStack } from './stacks.ts'
import { chooseSystem, type TaskSystemOutputs } from './task-systems.ts'

type Send = (request: Request) => Promise<Response>

/** A task system in an AWS account. */
export type DeployedSystem = TaskSystemOutputs & {
  readonly stack: string
  readonly region: string
  /** Such as `UPDATE_COMPLETE`. */
  readonly stackStatus: string
  /** Reads its alarms that have gone off. @throws BatonError when CloudWatch refuses or does not answer */
  ringingAlarms(): Promise<RingingAlarm[]>
}

/**
 * Finds the task system of a stack. `named` is the name or the ARN of the stack, or `STACK/SYSTEM`. The second answer signs requests to
 * its API.
 *
 * @throws BatonError as `connect` of `../system/system.ts` says
 */
export async function findDeployed(
  named: string,
  options: AccessOptions,
  io: Io,
): Promise<{ readonly system: DeployedSystem; readonly fetch: Send }> {
  const [stack = '', name] = named.startsWith('arn:') ? [named] : named.split('/', 2)
  const region = await regionFor(options, '--stack')
  const credentials = await credentialsOf(options)
  const access = { region, credentials, io }
  const read = await readStack(stack, access)
  const ringingAlarms = () => readRingingAlarms(read.name, access)
  return {
    system: {
      ...chooseSystem(read, name),
      stack: read.name,
      region,
      stackStatus: read.status,
      ringingAlarms,
    },
    fetch: signedFetch({ region, credentials, fetch: io.fetch }),
  }
}

/** Makes a `fetch` that signs requests to the API at this address with the user's credentials. */
export async function signedFetchTo(url: string, options: AccessOptions, io: Io): Promise<Send> {
  const region = options.region ?? regionNamedBy(url) ?? (await regionFor(options, url))
  return signedFetch({ region, credentials: await credentialsOf(options), fetch: io.fetch })
}

function regionNamedBy(url: string): string | undefined {
  try {
    return regionOf(new URL(url).hostname, {})
  } catch {
    return undefined
  }
}
