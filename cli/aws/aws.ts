import type { Parameter, Stack } from '@aws-sdk/client-cloudformation'
import { CloudFormationClient, DescribeStacksCommand } from '@aws-sdk/client-cloudformation'
import { signedFetch } from '../../shared/client/signed/signed-fetch.ts'
import { BatonError } from '../../shared/core/values/values.ts'
import type { Io } from '../terminal/io.ts'
import type { AccessOptions } from './access.ts'
import { credentialFaultIn, credentialsOf, credentialTexts, regionFor, regionNamedBy } from './access.ts'
import { type Access, call, isBusy, profileOf, type Refusal } from './call.ts'
import { explainingRefusals } from './explain-refusal.ts'
import {
  readBootstrapVersion,
  readFunctions,
  readQueues,
  readResources,
  readRingingAlarms,
  readTriggers,
} from './resources.ts'

/**
 * Deployed systems. Only this folder of the command line uses parts of the AWS SDK. It is a bundle of its own with these parts inside, so
 * users install no SDK, and a command loads it only when it needs it.
 *
 * - `access.ts`: the region and the credentials of the user, found as the AWS CLI finds them;
 * - `call.ts`: a call of an AWS service by a client of the SDK;
 * - `resources.ts`: the resources of a stack and their states, for `baton doctor`;
 * - `explain-refusal.ts`: why the API refused a signed call.
 *
 * This file reads a stack with its outputs from CloudFormation, and chooses the task system that the outputs name.
 */

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
type Looks = ReturnType<typeof looksAt>

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
function looksAt({ name, bootstrap }: ReadStack, access: Access) {
  let listed: ReturnType<typeof readResources> | undefined
  const look =
    <State>(read: (resources: Awaited<ReturnType<typeof readResources>>, access: Access) => Promise<State>) =>
    async () => {
      listed ??= readResources(name, access)
      return read(await listed, access)
    }
  return {
    /** The present version of the CDK's bootstrap; undefined when there is none. */
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

type ReadStack = ReturnType<typeof stackIn>

/**
 * Reads a stack by its name or ARN.
 *
 * @throws BatonError `invalid` when there is no such stack, `refused` when the credentials may not read it, `unavailable` when
 * CloudFormation does not answer
 */
async function readStack(name: string, access: Access): Promise<ReadStack> {
  const named = 'cloudformation:DescribeStacks'
  const command = new DescribeStacksCommand({ StackName: name })
  const answer = await call(named, access, settings => new CloudFormationClient(settings).send(command))
  if ('refusal' in answer) throw refused(name, access, answer.refusal)
  return stackIn(answer.found.Stacks?.[0], name, access.region)
}

function stackIn(stack: Stack | undefined, asked: string, region: string) {
  const bootstrap = bootstrapIn(stack?.Parameters)
  return {
    name: stack?.StackName ?? asked,
    status: stack?.StackStatus ?? 'unknown',
    region,
    outputs: new Map(
      stack?.Outputs?.map(({ OutputKey = '', OutputValue = '' }) => [OutputKey, OutputValue] as const),
    ),
    /** The number of its account; empty if unknown. */
    account: stack?.StackId?.split(':')[4] ?? '',
    ...(bootstrap && { bootstrap }),
  }
}

/** The parameter of a template that the CDK has synthesised for an environment with a bootstrap. */
const BOOTSTRAP_PARAMETER = 'BootstrapVersion'

function bootstrapIn(parameters: readonly Parameter[] = []): string | undefined {
  return parameters.find(({ ParameterKey }) => ParameterKey === BOOTSTRAP_PARAMETER)?.ParameterValue
}

function refused(name: string, access: Access, refusal: Refusal): BatonError {
  const { code, message } = refusal
  const { region } = access
  if (code === 'ValidationError' && message.includes('does not exist'))
    return new BatonError(
      'invalid',
      `there is no stack ${name} in ${region} of this account: give --region or --profile for another one`,
    )
  if (code === 'ValidationError') return new BatonError('invalid', `--stack ${name}: ${message}`)
  const fault = credentialFaultIn(`${code} ${message}`)
  const advice = fault ? `; ${credentialTexts(fault, profileOf(access)).detail}` : ''
  return new BatonError(
    isBusy(refusal) ? 'unavailable' : 'refused',
    `CloudFormation does not show the stack ${name} in ${region}: ${code}: ${message}${advice}`,
  )
}

/** What the outputs of a stack say about one of its task systems. The construct `TaskSystem` writes them. */
type TaskSystemOutputs = {
  readonly name: string
  readonly url: string
  readonly table: string
  readonly wakeQueueUrl: string
  readonly jobsQueueUrl: string
}

const NAME_OUTPUT = 'SystemName'

/**
 * Chooses the system that a user names in a stack, or its only one.
 *
 * @throws BatonError `invalid` when the stack has none, has no such one, or has several and the user names none.
 */
function chooseSystem(stack: ReadStack, named: string | undefined): TaskSystemOutputs {
  const systems = systemsOf(stack)
  if (systems.length === 0) throw new BatonError('invalid', noSystem(stack))
  const fitting = named === undefined ? systems : systems.filter(({ name }) => name === named)
  const [first] = fitting
  if (first && fitting.length === 1) return first
  const names = systems.map(({ name }) => name).join(', ')
  const found =
    named === undefined ? `several task systems, ${names}` : `no task system ${named}, only ${names}`
  const example = `--stack ${stack.name}/${systems[0]?.name}`
  throw new BatonError('invalid', `the stack ${stack.name} has ${found}: give for example ${example}`)
}

/** A system with a name of its own has outputs that begin with it, so all are found by the end of their keys. */
function systemsOf({ outputs }: ReadStack): TaskSystemOutputs[] {
  return [...outputs].flatMap(([key, name]) => {
    if (!key.endsWith(NAME_OUTPUT)) return []
    const prefix = key.slice(0, -NAME_OUTPUT.length)
    const output = (one: string) => outputs.get(prefix + one)
    const [url, table, wakeQueueUrl, jobsQueueUrl] = [
      'ApiUrl',
      'TableName',
      'WakeQueueUrl',
      'JobsQueueUrl',
    ].map(output)
    if (!url || !table || !wakeQueueUrl || !jobsQueueUrl) return []
    return [{ name, url, table, wakeQueueUrl, jobsQueueUrl }]
  })
}

function noSystem({ name, status, region, outputs }: ReadStack): string {
  const keys = [...outputs.keys()]
  const has = keys.length === 0 ? 'it has no outputs' : `its outputs are ${keys.join(', ')}`
  return `the stack ${name} in ${region} (${status}) has no task system: ${has}`
}
