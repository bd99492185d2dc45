import { type Answer, type Call, errorAnswer } from '../gateway/call.ts'
import type { Stack } from '../template/stack.ts'
import type { Policy, RequestedAction, Statement } from './policy.ts'
import { compilePolicy, lazily, unknownConditions } from './policy.ts'
import { requestedActionsIn } from './requested-actions.ts'

/** IAM. The actions that a call needs (`requested-actions.ts`) are compared with the policies (`policy.ts`) of the caller's role. */

/** A refused call: the caller's role does not allow the action. */
export type Denial = { readonly caller: string; readonly action: string; readonly resource: string }

/** Checks calls against the policies of the caller's role, as IAM does. */
export type Permissions = ReturnType<typeof createPermissions>

/** How many denials the list for tests and tools keeps. */
const DENIALS_KEPT = 1_000

/**
 * A call is attributed by its access key id. The id of a function, a mapping or a service stands for that resource's role. The id
 * of a role stands for the role itself: tests and other programs use it. Other callers, such as `tester`, are the account's owner.
 * `denials` is the list that receives the refused calls.
 */
export function createPermissions(stack: Stack, log: (line: string) => void, denials: Denial[] = []) {
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
    /**
     * Whether a caller may perform an action. `caller` is a logical id or the ARN of a role. A caller without a role in the template
     * may perform every action.
     */
    allows,
    denials,
    principalOf: (caller: string) => {
      const role = roleOf(caller)
      return role && assumedRoleArn(role, caller)
    },
    /** Whether the call would be refused. Unlike `refusalOf` it records nothing. */
    wouldRefuse: (call: Call) => {
      const role = roleOf(call.roleArn ?? call.caller)
      return role !== undefined && actionsOf(call).some(requested => !role.policy.allows(requested))
    },
    /** The refusal of a call; undefined if the caller's role allows it. */
    refusalOf: (call: Call) => {
      const caller = call.roleArn ?? call.caller
      const role = roleOf(caller)
      const denied = role && actionsOf(call).find(requested => !allows(caller, requested))
      return denied && denialAnswer(call, role, denied)
    },
  }
}

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

type Role = {
  readonly logicalId: string
  readonly arn: string
  readonly policy: Policy
}

type Document = { readonly Statement: Statement | readonly Statement[] }

/** Managed policies that concern no emulated service: logs, traces and network interfaces. */
const WITHOUT_EFFECT =
  /\/(AWSLambdaBasicExecutionRole|AWSLambdaVPCAccessExecutionRole|AWSXRayDaemonWriteAccess|AmazonECSTaskExecutionRolePolicy)$/

/** The roles of a stack. Each is compiled at its first use: only then are all resources known that its policies name. */
function rolesIn(stack: Stack, log: (line: string) => void) {
  const compiled = new Map<string, Role | undefined>()

  function compile(logicalId: string): Role | undefined {
    const statements = statementsOf(stack, logicalId)
    if (statements instanceof Error) {
      log(`NOT SUPPORTED locally: ${logicalId} is not held to its policies: ${statements.message}`)
      return undefined
    }
    const unknown = new Set(statements.flatMap(({ Condition = {} }) => unknownConditions(Condition)))
    for (const condition of unknown)
      log(`NOT SUPPORTED locally: ${logicalId} has the condition ${condition}, which is not evaluated here`)
    return { logicalId, arn: stack.describe(logicalId).arn, policy: compilePolicy(statements) }
  }

  function role(logicalId: string): Role | undefined {
    if (!compiled.has(logicalId)) compiled.set(logicalId, compile(logicalId))
    return compiled.get(logicalId)
  }

  const byArn = new Map(stack.ids('AWS::IAM::Role').map(id => [stack.describe(id).arn, id]))

  function ofArn(arn: unknown): Role | undefined {
    const id = byArn.get(String(arn))
    return id === undefined ? undefined : role(id)
  }

  // Only ids of the template are cached: callers such as schedules bring new names without end.
  const arns = new Map(stack.ids().map(id => [id, lazily(() => roleArnFor(stack, id))]))
  return {
    ofArn,
    /** The role of the resource with this logical id, or the role with this id itself. */
    ofCaller: (caller: string): Role | undefined => ofArn(arns.get(caller)?.()),
  }
}

/** A mapping acts under its function's role, a service under the role of its containers. */
function roleArnFor(stack: Stack, logicalId: string): unknown {
  switch (stack.resource(logicalId).Type) {
    case 'AWS::IAM::Role':
      return stack.describe(logicalId).arn
    case 'AWS::Lambda::Function':
      return stack.read(logicalId, 'Role')
    case 'AWS::Lambda::EventSourceMapping': {
      const fn = String(stack.read(logicalId, 'FunctionName'))
      const found = stack.ids('AWS::Lambda::Function').find(id => isNamed(stack, id, fn))
      return found && stack.read(found, 'Role')
    }
    case 'AWS::ECS::Service': {
      const wanted = stack.read(logicalId, 'TaskDefinition')
      const found = stack.ids('AWS::ECS::TaskDefinition').find(id => stack.describe(id).physicalId === wanted)
      return found && stack.read(found, 'TaskRoleArn')
    }
    default:
      return undefined
  }
}

function isNamed(stack: Stack, logicalId: string, wanted: string): boolean {
  const { physicalId, arn } = stack.describe(logicalId)
  return [physicalId, arn].includes(wanted)
}

/** Returns the role's statements, or an error if the template does not contain everything that bounds the role. */
function statementsOf(stack: Stack, role: string): Statement[] | Error {
  const { physicalId } = stack.describe(role)
  const foreign = [stack.read(role, 'ManagedPolicyArns') ?? []]
    .flat()
    .map(String)
    .find(arn => arn.includes(':iam::aws:policy/') && !WITHOUT_EFFECT.test(arn))
  if (foreign !== undefined) return new Error(`it has ${foreign}`)
  if (stack.read(role, 'PermissionsBoundary') !== undefined) return new Error('it has a permissions boundary')
  const inline = (stack.read(role, 'Policies') ?? []) as ReadonlyArray<{ readonly PolicyDocument: Document }>
  const attached = [...stack.ids('AWS::IAM::Policy'), ...stack.ids('AWS::IAM::ManagedPolicy')].filter(id =>
    ((stack.read(id, 'Roles') ?? []) as readonly unknown[]).includes(physicalId),
  )
  const documents = [
    ...inline.map(({ PolicyDocument }) => PolicyDocument),
    ...attached.map(id => stack.read(id, 'PolicyDocument') as Document),
  ]
  return documents.flatMap(({ Statement }) => Statement)
}
