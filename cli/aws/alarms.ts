import { type Access, refused } from './call.ts'
import { membersIn, query, textsIn } from './query.ts'
import { idsOf, type StackResource } from './resources.ts'

/** An alarm that has gone off, or has no data though it needs some, and why in the words of CloudWatch. */
export type RingingAlarm = { readonly name: string; readonly reason: string }

/** The most names in one call. Source: CloudWatch, DescribeAlarms. */
const NAMES_MAX = 100

/**
 * Reads the alarms of a stack that have gone off. It asks for them by their names: `Shop-` also begins the names of alarms of
 * `Shop-staging`, and an alarm may have a name of its own.
 *
 * @throws BatonError `refused` when the credentials may not read alarms, `unavailable` when CloudWatch does not answer
 */
export async function readRingingAlarms(
  resources: readonly StackResource[],
  access: Access,
): Promise<RingingAlarm[]> {
  const names = idsOf(resources, 'AWS::CloudWatch::Alarm')
  const ringing: RingingAlarm[] = []
  for (let at = 0; at < names.length; at += NAMES_MAX)
    ringing.push(...(await ringingOf(names.slice(at, at + NAMES_MAX), access)))
  return ringing
}

async function ringingOf(names: readonly string[], access: Access): Promise<RingingAlarm[]> {
  const named = names.map((name, index) => [`AlarmNames.member.${index + 1}`, name] as const)
  const parameters = { MaxRecords: String(NAMES_MAX), ...Object.fromEntries(named) }
  const answer = await query({ service: 'monitoring', action: 'DescribeAlarms', parameters }, access)
  if (typeof answer !== 'string')
    throw refused('the alarms of the stack', 'cloudwatch:DescribeAlarms', answer, access)
  return membersIn(answer, 'MetricAlarms')
    .filter(isRinging)
    .map(member => ({
      name: textsIn(member, 'AlarmName')[0] ?? '',
      reason: textsIn(member, 'StateReason')[0] ?? '',
    }))
}

/** Alarms that must have data, such as the one on the sweeper, treat missing data as missing. All others ignore it. */
function isRinging(member: string): boolean {
  const [state] = textsIn(member, 'StateValue')
  const [missing] = textsIn(member, 'TreatMissingData')
  return state === 'ALARM' || (state === 'INSUFFICIENT_DATA' && missing === 'missing')
}
