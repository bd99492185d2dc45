import { BatonError } from '../../shared/core/errors.ts'
import { type Access, membersIn, partsIn, query, type Refusal, textsIn } from './query.ts'

/** What CloudFormation says about a stack. */
export type ReadStack = {
  readonly name: string
  /** Such as `UPDATE_COMPLETE`. */
  readonly status: string
  readonly region: string
  /** The values of its outputs by their keys. */
  readonly outputs: ReadonlyMap<string, string>
}

/**
 * Reads a stack by its name or ARN.
 *
 * @throws BatonError `invalid` when there is no such stack, `refused` when the credentials may not read it, `unavailable` when
 * CloudFormation does not answer
 */
export async function readStack(name: string, access: Access): Promise<ReadStack> {
  const answer = await query(
    {
      service: 'cloudformation',
      version: '2010-05-15',
      action: 'DescribeStacks',
      parameters: { StackName: name },
    },
    access,
  )
  if (typeof answer !== 'string') throw refused(name, access.region, answer)
  return stackIn(answer, name, access.region)
}

function stackIn(xml: string, asked: string, region: string): ReadStack {
  const [outputs = ''] = partsIn(xml, 'Outputs')
  const pairs = partsIn(outputs, 'member').map(
    member => [textsIn(member, 'OutputKey')[0] ?? '', textsIn(member, 'OutputValue')[0] ?? ''] as const,
  )
  return {
    name: textsIn(xml, 'StackName')[0] ?? asked,
    status: textsIn(xml, 'StackStatus')[0] ?? 'unknown',
    region,
    outputs: new Map(pairs),
  }
}

function refused(name: string, region: string, { code, message }: Refusal): BatonError {
  if (code === 'ValidationError' && message.includes('does not exist'))
    return new BatonError(
      'invalid',
      `there is no stack ${name} in ${region} of this account: give --region or --profile for another one`,
    )
  if (code === 'ValidationError') return new BatonError('invalid', `--stack ${name}: ${message}`)
  return new BatonError(
    'refused',
    `CloudFormation does not show the stack ${name} in ${region}: ${code}: ${message}`,
  )
}

/** An alarm that has gone off, and why in the words of CloudWatch. */
export type RingingAlarm = { readonly name: string; readonly reason: string }

/**
 * Reads the alarms of a stack that have gone off, at most 100. The names of alarms begin with that of their stack, but `Shop-` also begins the
 * names of alarms of `Shop-staging`. So when some have gone off, the resources of the stack say which are its own.
 *
 * @throws BatonError `refused` when the credentials may not read alarms or resources, `unavailable` when a service does not answer
 */
export async function readRingingAlarms(stack: string, access: Access): Promise<RingingAlarm[]> {
  const answer = await query(
    {
      service: 'monitoring',
      version: '2010-08-01',
      action: 'DescribeAlarms',
      parameters: { AlarmNamePrefix: `${stack}-`, StateValue: 'ALARM', MaxRecords: '100' },
    },
    access,
  )
  if (typeof answer !== 'string')
    throw new BatonError('refused', `CloudWatch does not show its alarms: ${answer.code}: ${answer.message}`)
  const ringing = membersIn(answer, 'MetricAlarms').map(member => ({
    name: textsIn(member, 'AlarmName')[0] ?? '',
    reason: textsIn(member, 'StateReason')[0] ?? '',
  }))
  if (ringing.length === 0) return []
  const own = await readResources(stack, access)
  return ringing.filter(({ name }) => own.has(name))
}

/** The physical ids of the resources of a stack: for an alarm, its name. */
async function readResources(stack: string, access: Access): Promise<ReadonlySet<string>> {
  const ids = new Set<string>()
  let next: string | undefined
  do {
    const parameters = { StackName: stack, ...(next !== undefined && { NextToken: next }) }
    const answer = await query(
      { service: 'cloudformation', version: '2010-05-15', action: 'ListStackResources', parameters },
      access,
    )
    if (typeof answer !== 'string')
      throw new BatonError(
        'refused',
        `CloudFormation does not show which alarms are of the stack ${stack}: ${answer.code}: ${answer.message}`,
      )
    for (const id of textsIn(answer, 'PhysicalResourceId')) ids.add(id)
    ;[next] = textsIn(answer, 'NextToken')
  } while (next !== undefined)
  return ids
}
