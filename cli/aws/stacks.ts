import { BatonError } from '../../shared/core/errors.ts'
import { type Access, isBusy, profileOf, type Refusal } from './call.ts'
import { credentialFaultIn, credentialTexts } from './credential-faults.ts'
import { partsIn, query, textsIn } from './query.ts'

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
  /** Where the CDK notes the version of its bootstrap. Undefined when the template does not ask for it. */
  readonly bootstrap?: BootstrapParameter
}

/** A parameter of Systems Manager, and the value that it had at the last deployment. */
export type BootstrapParameter = { readonly name: string; readonly deployedVersion?: string }

/**
 * Reads a stack by its name or ARN.
 *
 * @throws BatonError `invalid` when there is no such stack, `refused` when the credentials may not read it, `unavailable` when
 * CloudFormation does not answer
 */
export async function readStack(name: string, access: Access): Promise<ReadStack> {
  const parameters = { StackName: name }
  const answer = await query({ service: 'cloudformation', action: 'DescribeStacks', parameters }, access)
  if (typeof answer !== 'string') throw refused(name, access, answer)
  return stackIn(answer, name, access.region)
}

function stackIn(xml: string, asked: string, region: string): ReadStack {
  const outputs = pairsIn(xml, 'Outputs', 'OutputKey', 'OutputValue')
  const bootstrap = bootstrapIn(xml)
  return {
    name: textsIn(xml, 'StackName')[0] ?? asked,
    status: textsIn(xml, 'StackStatus')[0] ?? 'unknown',
    region,
    outputs: new Map(outputs),
    account: textsIn(xml, 'StackId')[0]?.split(':')[4] ?? '',
    ...(bootstrap && { bootstrap }),
  }
}

function pairsIn(xml: string, list: string, key: string, value: string): Array<readonly [string, string]> {
  const [content = ''] = partsIn(xml, list)
  return partsIn(content, 'member').map(
    member => [textsIn(member, key)[0] ?? '', textsIn(member, value)[0] ?? ''] as const,
  )
}

/** The parameter of a template that the CDK has synthesised for an environment with a bootstrap. */
const BOOTSTRAP_PARAMETER = 'BootstrapVersion'

function bootstrapIn(xml: string): BootstrapParameter | undefined {
  const find = (value: string) =>
    new Map(pairsIn(xml, 'Parameters', 'ParameterKey', value)).get(BOOTSTRAP_PARAMETER)
  const [name, deployedVersion] = [find('ParameterValue'), find('ResolvedValue')]
  return name ? { name, ...(deployedVersion && { deployedVersion }) } : undefined
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
