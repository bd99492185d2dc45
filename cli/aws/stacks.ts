import {
  CloudFormationClient,
  DescribeStacksCommand,
  type Parameter,
  type Stack,
} from '@aws-sdk/client-cloudformation'
import { BatonError } from '../../shared/core/errors.ts'
import { credentialFaultIn, credentialTexts } from './access.ts'
import { type Access, call, isBusy, profileOf, type Refusal } from './call.ts'

/** What CloudFormation says about a stack. */
export type ReadStack = {
  readonly name: string
  /** Such as `UPDATE_COMPLETE`. */
  readonly status: string
  readonly region: string
  /** The values of its outputs by their keys. */
  readonly outputs: ReadonlyMap<string, string>
  /** The number of its account; empty if unknown. */
  readonly account: string
  /** The parameter of Systems Manager with the version of the CDK's bootstrap. Undefined when the template does not ask for it. */
  readonly bootstrap?: string
}

/**
 * Reads a stack by its name or ARN.
 *
 * @throws BatonError `invalid` when there is no such stack, `refused` when the credentials may not read it, `unavailable` when
 * CloudFormation does not answer
 */
export async function readStack(name: string, access: Access): Promise<ReadStack> {
  const named = 'cloudformation:DescribeStacks'
  const command = new DescribeStacksCommand({ StackName: name })
  const answer = await call(named, access, settings => new CloudFormationClient(settings).send(command))
  if ('refusal' in answer) throw refused(name, access, answer.refusal)
  return stackIn(answer.found.Stacks?.[0], name, access.region)
}

function stackIn(stack: Stack | undefined, asked: string, region: string): ReadStack {
  const bootstrap = bootstrapIn(stack?.Parameters)
  return {
    name: stack?.StackName ?? asked,
    status: stack?.StackStatus ?? 'unknown',
    region,
    outputs: new Map(
      stack?.Outputs?.map(({ OutputKey = '', OutputValue = '' }) => [OutputKey, OutputValue] as const),
    ),
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
export type TaskSystemOutputs = {
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
export function chooseSystem(stack: ReadStack, named: string | undefined): TaskSystemOutputs {
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
