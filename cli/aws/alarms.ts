import { BatonError } from '../../shared/core/errors.ts'
import { type Access, partsIn, query, textsIn } from './query.ts'

/** An alarm that has gone off, and why in the words of CloudWatch. */
export type RingingAlarm = { readonly name: string; readonly reason: string }

/**
 * Reads the alarms of a stack that have gone off, at most 100. CloudFormation names alarms after their stack.
 *
 * @throws BatonError `refused` when the credentials may not read them, `unavailable` when CloudWatch does not answer
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
  return partsIn(answer, 'AlarmName').map((name, at) => ({
    name,
    reason: textsIn(answer, 'StateReason')[at] ?? '',
  }))
}
