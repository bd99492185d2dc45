import type { Context } from '../system/with-system.ts'
import type { Finding } from './finding.ts'
import { orFine, orUnchecked } from './unchecked.ts'

/** Whether the last deployment of the stack has ended well, and which of its alarms have gone off. */
export async function checkStack({ deployed }: Context): Promise<Finding[]> {
  if (!deployed) return []
  return [deploymentOf(deployed), ...(await alarmsOf(deployed))]
}

type Deployed = NonNullable<Context['deployed']>

function deploymentOf({ stack, region, stackStatus }: Deployed): Finding {
  const check = 'stack'
  const text = `the stack ${stack} in ${region} is ${stackStatus}`
  if (/^(CREATE|UPDATE|IMPORT)_COMPLETE$/.test(stackStatus)) return { level: 'fine', check, text }
  if (stackStatus.endsWith('_IN_PROGRESS'))
    return { level: 'notice', check, text, next: 'wait for the end of the deployment' }
  return {
    level: 'wrong',
    check,
    text,
    next: 'see the events of the stack, repair the cause, and deploy again',
  }
}

async function alarmsOf({ look }: Deployed): Promise<Finding[]> {
  const check = 'alarms'
  return orUnchecked(check, async () => {
    const findings = (await look.ringingAlarms()).map(
      ({ name, reason }): Finding => ({
        level: 'wrong',
        check,
        text: `the alarm ${name} has gone off${reason === '' ? '' : `: ${reason}`}`,
        next: 'docs/operations.md says what each alarm means',
      }),
    )
    return orFine(check, findings, 'no alarm of the stack has gone off')
  })
}
