/**
 * IAM: what a call asks for (`asked.ts`, `dynamo-asked.ts`) is compared with the policies (`policy.ts`, `conditions.ts`) of the
 * caller's role (`roles.ts`).
 */

import { type Answer, type Call, errorAnswer } from '../gateway/call.ts'
import type { Stack } from '../template/stack.ts'
import type { RequestedAction } from './policy.ts'
import { requestedActionsIn } from './requested-actions.ts'
import { type Role, rolesIn } from './roles.ts'

/** A call that was refused because its caller's role does not allow it. */
export type Denial = { readonly caller: string; readonly action: string; readonly resource: string }

/** Holds every caller with a role to the policies of that role, as IAM does. */
export type Permissions = {
  /** The refusal of a call that the caller's role does not allow. */
  refusalOf(call: Call): Answer | undefined
  /** Whether `caller` may do it: a logical id, or the ARN of a role. What has no role in the template may do everything. */
  allows(caller: string, asked: RequestedAction): boolean
  /** The ARN under which the caller acts, if it has a role. */
  principalOf(caller: string): string | undefined
  readonly denials: Denial[]
}

/** Denials that are kept for tests and tools. */
const DENIALS_KEPT = 1_000

/**
 * Calls are attributed by their access key: the logical id of a function, a mapping or a service, whose role then counts, or of
 * a role itself, under which a test or a program of one's own acts. Other callers, such as a tester, are the account's owner.
 */
export function createPermissions(stack: Stack, log: (line: string) => void): Permissions {
  const roles = rolesIn(stack, log)
  const askedOf = requestedActionsIn(stack)
  const denials: Denial[] = []
  const roleOf = (caller: string) =>
    caller.startsWith('arn:') ? roles.ofArn(caller) : roles.ofCaller(caller)

  function allows(caller: string, asked: RequestedAction): boolean {
    const role = roleOf(caller)
    if (!role || role.policy.allows(asked)) return true
    const denial = { caller, action: asked.action, resource: asked.resource ?? '*' }
    denials.push(denial)
    if (denials.length > DENIALS_KEPT) denials.shift()
    log(JSON.stringify({ level: 'ERROR', message: 'a call was denied', ...denial }))
    return false
  }

  return {
    allows,
    denials,
    principalOf: caller => {
      const role = roleOf(caller)
      return role && assumedRoleArn(role, caller)
    },
    refusalOf: call => {
      const caller = call.roleArn ?? call.caller
      const role = roleOf(caller)
      const denied = role && askedOf(call).find(asked => !allows(caller, asked))
      return denied && denialAnswer(call, role, denied)
    },
  }
}

/** The ARN of a session of the role. */
function assumedRoleArn({ arn }: Role, session: string): string {
  return `${arn.replace(':iam:', ':sts:').replace(':role/', ':assumed-role/')}/${session}`
}

function denialAnswer(
  { caller, service }: Call,
  role: Role,
  { action, resource = '*' }: RequestedAction,
): Answer {
  const message =
    `User: ${assumedRoleArn(role, caller)} is not authorized to perform: ${action} on resource: ${resource} ` +
    `because no identity-based policy allows the ${action} action`
  return errorAnswer(
    service === 'scheduler' || service === 'lambda' ? 403 : 400,
    'AccessDeniedException',
    message,
  )
}
