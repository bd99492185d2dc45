/**
 * IAM. The actions that a call needs (`requested-actions.ts`, `dynamo-actions.ts`) are compared with the policies (`policy.ts`,
 * `conditions.ts`) of the caller's role (`roles.ts`).
 */

import { type Answer, type Call, errorAnswer } from '../gateway/call.ts'
import type { Stack } from '../template/stack.ts'
import type { RequestedAction } from './policy.ts'
import { requestedActionsIn } from './requested-actions.ts'
import { type Role, rolesIn } from './roles.ts'

/** A refused call: the caller's role does not allow the action. */
export type Denial = { readonly caller: string; readonly action: string; readonly resource: string }

/** Checks calls against the policies of the caller's role, as IAM does. */
export type Permissions = {
  /** The refusal of a call; undefined if the caller's role allows it. */
  refusalOf(call: Call): Answer | undefined
  /** Whether the call would be refused. Unlike `refusalOf` it records nothing. */
  wouldRefuse(call: Call): boolean
  /**
   * Whether a caller may perform an action. `caller` is a logical id or the ARN of a role. A caller without a role in the template
   * may perform every action.
   */
  allows(caller: string, requested: RequestedAction): boolean
  /** The caller's principal ARN, if it has a role. */
  principalOf(caller: string): string | undefined
  readonly denials: Denial[]
}

/** How many denials the list for tests and tools keeps. */
const DENIALS_KEPT = 1_000

/**
 * A call is attributed by its access key id. The id of a function, a mapping or a service stands for that resource's role. The id
 * of a role stands for the role itself: tests and other programs use it. Other callers, such as `tester`, are the account's owner.
 * `denials` is the list that receives the refused calls.
 */
export function createPermissions(
  stack: Stack,
  log: (line: string) => void,
  denials: Denial[] = [],
): Permissions {
  const roles = rolesIn(stack, log)
  const actionsOf = requestedActionsIn(stack)
  const roleOf = (caller: string) =>
    caller.startsWith('arn:') ? roles.ofArn(caller) : roles.ofCaller(caller)

  function allows(caller: string, requested: RequestedAction): boolean {
    const role = roleOf(caller)
    if (!role || role.policy.allows(requested)) return true
    const denial = { caller, action: requested.action, resource: requested.resource ?? '*' }
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
    wouldRefuse: call => {
      const role = roleOf(call.roleArn ?? call.caller)
      return role !== undefined && actionsOf(call).some(requested => !role.policy.allows(requested))
    },
    refusalOf: call => {
      const caller = call.roleArn ?? call.caller
      const role = roleOf(caller)
      const denied = role && actionsOf(call).find(requested => !allows(caller, requested))
      return denied && denialAnswer(call, role, denied)
    },
  }
}

/** The ARN of the role's session. */
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
