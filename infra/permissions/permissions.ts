/**
 * The permissions of code in the account. A grant adds the actions and the environment variables for them in one call (`allow`).
 * `table-access.ts` limits code of users to the partitions of its types. `api-access.ts` lists the routes that a principal may call.
 *
 * IAM allows 10,240 characters in all inline policies of a role, 6,144 in a managed policy, and by default ten managed policies on a role.
 * White space does not count. Source: IAM and STS quotas.
 *
 * CDK divides a large policy, but it takes each ARN for 150 characters, and it cannot measure a list that is resolved later. So the grants
 * of types are collected until synthesis, when all flows of the app are known. Then the statements of each role are measured as they will
 * be deployed. Small ones are inline. The lists of large ones are divided, and fill managed policies. A validation measures the result.
 */

import { AspectPriority, Aspects, Names, Stack, Stage, Token } from 'aws-cdk-lib'
import { CfnRole, Effect, type IRole, ManagedPolicy, Policy, PolicyStatement } from 'aws-cdk-lib/aws-iam'
import { Construct, type IConstruct } from 'constructs'

/** Code that is granted permissions: a Lambda function, or a container with the role of its ECS task. */
export type Grantee = {
  /** The role, to which managed policies are attached when a grant exceeds the inline policies of a role. */
  readonly role?: IRole | undefined
  addToRolePolicy(statement: PolicyStatement): void
  addEnvironment(name: string, value: string): unknown
}

/** Patterns of partition keys. One request may name keys of all patterns of an inner list, so these are in one statement. */
export type KeyPatterns = ReadonlyArray<string | readonly string[]>

export type Permission = {
  /** Whether the statement denies what other statements allow. */
  readonly isDenied?: true
  readonly actions: readonly string[]
  /** ARNs. With an empty list nothing is allowed, but the variables are still set. */
  readonly resources: readonly string[]
  readonly conditions?: Readonly<Record<string, Readonly<Record<string, string | readonly string[]>>>>
  /** Patterns of the partition keys that a request may name. @default any */
  readonly keys?: KeyPatterns
  /** Environment variables from which the code knows these resources. */
  readonly environment?: Readonly<Record<string, string>>
}

/** Adds the statement and the variables in one call, so that neither is given without the other. */
export function allow(grantee: Grantee, permission: Permission): void {
  const { actions, resources, environment = {} } = permission
  if (actions.length > 0 && resources.length > 0) grantee.addToRolePolicy(statementOf(permission))
  for (const [name, value] of Object.entries(environment)) grantee.addEnvironment(name, value)
}

function statementOf({ actions, resources, conditions, keys, isDenied }: Permission): PolicyStatement {
  return new PolicyStatement({
    effect: isDenied ? Effect.DENY : Effect.ALLOW,
    actions: [...actions],
    resources: [...resources],
    conditions: {
      ...conditions,
      ...(keys && {
        'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': [...new Set(keys.flat())].sort() },
      }),
    },
  })
}

/** A grantee that runs under a role of the user. It collects the environment, which the user passes to the process. */
export function granteeUnder(role: IRole) {
  const environment: Record<string, string> = {}
  const grantee: Grantee = {
    role,
    addToRolePolicy: statement => role.addToPrincipalPolicy(statement),
    addEnvironment: (name, value) => {
      environment[name] = value
    },
  }
  return { grantee, environment }
}

/** The most characters of all inline policies of a role, without white space. Source: IAM and STS quotas. */
const INLINE_CHARACTERS_MAX = 10_240
/** The most characters of a managed policy, without white space. Source: IAM and STS quotas. */
const MANAGED_CHARACTERS_MAX = 6_144
/** The most managed policies of a role by default; an account may raise it to 25. Source: IAM and STS quotas. */
const MANAGED_POLICIES_MAX = 10
/** Larger grants of types to one role are managed policies. The rest of the inline policies is for logs, queues and the user. */
const GRANTS_INLINE_CHARACTERS_MAX = 4_000

type Grants = { readonly grantee: Grantee; readonly permissions: Array<() => Permission> }

/** `{"Version":"2012-10-17","Statement":[]}` */
const ENVELOPE_CHARACTERS = 40
/** A statement fills at most half of a managed policy, so that few policies hold many statements. */
const STATEMENT_CHARACTERS_MAX = (MANAGED_CHARACTERS_MAX - ENVELOPE_CHARACTERS) / 2 - 1

/** The grants of types to the roles of one system. */
export class RolePolicies extends Construct {
  private readonly granted = new Map<IRole | Grantee, Grants>()

  constructor(scope: Construct, id: string) {
    super(scope, id)
    // A role of the user may be anywhere in the stage. CDK visits the stage before its roles, which divide their policies.
    const stage = Stage.of(this) ?? this.node.root
    const visit = (one: IConstruct) => (one === stage ? this.apply() : undefined)
    Aspects.of(stage).add({ visit }, { priority: AspectPriority.MUTATING })
    this.node.addValidation({
      validate: () => [...this.granted.values()].flatMap(one => problemsOf(one, scope)),
    })
  }

  /** Grants a permission that is resolved at synthesis. */
  add(grantee: Grantee, permission: () => Permission): void {
    const key = grantee.role ?? grantee
    const known = this.granted.get(key)
    if (known) known.permissions.push(permission)
    else this.granted.set(key, { grantee, permissions: [permission] })
  }

  private apply(): void {
    for (const { grantee, permissions } of this.granted.values()) {
      const { role = this } = grantee
      const resolved = permissions.map(resolve => resolve()).filter(({ resources }) => resources.length > 0)
      const isSmall = total(resolved, role) <= GRANTS_INLINE_CHARACTERS_MAX
      if (isSmall || role === this) addInline(grantee, resolved)
      else this.divide(grantee, role as IRole, resolved)
    }
  }

  private divide(grantee: Grantee, role: IRole, permissions: readonly Permission[]): void {
    const fits = (one: Permission[]) => total(one, role) + ENVELOPE_CHARACTERS <= MANAGED_CHARACTERS_MAX
    const policies: Permission[][] = []
    for (const part of permissions.flatMap(one => partsOf(one, role))) {
      const open = policies.find(policy => fits([...policy, part]))
      if (open) open.push(part)
      else if (fits([part])) policies.push([part])
      else addInline(grantee, [part])
    }
    for (const [index, policy] of policies.entries()) {
      const made = new ManagedPolicy(role, `${Names.uniqueId(this)}${index + 1}`, {
        description: `What ${role.node.path} may do in ${this.node.scope?.node.path}, part ${index + 1}`,
        statements: policy.map(statementOf),
      })
      if (role.node.defaultChild instanceof CfnRole) made.attachToRole(role)
      else role.addManagedPolicy(made)
    }
  }
}

function addInline(grantee: Grantee, permissions: readonly Permission[]): void {
  for (const permission of permissions) grantee.addToRolePolicy(statementOf(permission))
}

/**
 * Divides the longest list of a permission evenly into as few parts as are small enough. Keys that one request names together stay in one
 * statement: IAM compares all keys of a BatchGetItem with the list of one statement.
 */
function partsOf(permission: Permission, scope: IConstruct): Permission[] {
  const { keys = [], resources } = permission
  const field = keys.length > resources.length ? 'keys' : 'resources'
  const list = permission[field] ?? []
  const isSmall = (part: Permission) => charactersOf(part, scope) <= STATEMENT_CHARACTERS_MAX
  for (let count = 1; count < list.length; count++) {
    const parts = Array.from({ length: count }, (_, nth) => ({
      ...permission,
      [field]: list.filter((_one, index) => index % count === nth),
    }))
    if (parts.every(isSmall)) return parts
  }
  return [permission]
}

/** Returns one sentence for each quota that the policies of a role exceed. */
function problemsOf({ grantee: { role }, permissions }: Grants, system: Construct): string[] {
  const types = Math.max(...permissions.map(resolve => typesIn(resolve())))
  if (!role) {
    const characters = permissions.reduce((sum, resolve) => sum + charactersOf(resolve(), system), 0)
    if (characters <= INLINE_CHARACTERS_MAX) return []
    return [
      `a grant of ${system.node.path} has ${characters} characters for ${types} types, and IAM allows ${INLINE_CHARACTERS_MAX}; ` +
        "give the grantee its 'role', to which managed policies can be attached, or name fewer types",
    ]
  }
  const { inline, managed, attached } = policiesOf(role)
  const most = Math.max(0, ...managed)
  const excess = Math.max(
    inline / INLINE_CHARACTERS_MAX,
    attached / MANAGED_POLICIES_MAX,
    most / MANAGED_CHARACTERS_MAX,
  )
  if (excess <= 1) return []
  return [
    `the role ${role.node.path} needs ${inline} characters of inline policies and ${attached} managed policies of at most ${most} ` +
      `characters. IAM allows ${INLINE_CHARACTERS_MAX} characters, and ${MANAGED_POLICIES_MAX} policies of ` +
      `${MANAGED_CHARACTERS_MAX}. Its grants name up to ${types} types; ` +
      // The ends of the policies stay empty.
      `name at most ${Math.max(1, Math.floor((0.9 * types) / excess))} of them for this role`,
  ]
}

/** The number of types that a permission names, as partitions of tasks or as routes to tasks. */
function typesIn({ keys, resources }: Permission): number {
  if (keys) return keys.flat().filter(key => /^[^#]+:\*$/.test(key)).length
  return resources.filter(arn => /\/GET\/v1\/tasks\/.+:\*$/.test(arn)).length
}

function policiesOf(role: IRole) {
  const own = role.node.findAll()
  const size = (policy: Policy | ManagedPolicy) => charactersIn(policy.document, role)
  const managed = own.filter(one => one instanceof ManagedPolicy).map(size)
  const resource = role.node.defaultChild instanceof CfnRole ? role.node.defaultChild : undefined
  const { policies = [], managedPolicyArns = [] } = resource ?? {}
  const given = Stack.of(role).resolve(managedPolicyArns) as readonly unknown[] | undefined
  return {
    inline:
      own.filter(one => one instanceof Policy).reduce((sum, one) => sum + size(one), 0) +
      charactersIn(policies, role),
    managed,
    attached: managed.length + (given?.length ?? 0),
  }
}

function total(permissions: readonly Permission[], scope: IConstruct): number {
  return permissions.reduce((sum, one) => sum + charactersOf(one, scope) + 1, 0)
}

function charactersOf(permission: Permission, scope: IConstruct): number {
  return charactersIn(statementOf(permission).toStatementJson(), scope)
}

/** The length of a value as JSON, with the longest text that each reference can become. */
function charactersIn(value: unknown, scope: IConstruct): number {
  const stack = Stack.of(scope)
  const nameLength = Token.isUnresolved(stack.stackName) ? STACK_NAME_CHARACTERS : stack.stackName.length
  return JSON.stringify(lengthened(stack.resolve(value) ?? [], nameLength)).length
}

/** A nested stack is named by its parent, its own id and a hash. */
const STACK_NAME_CHARACTERS = 60
/** The longest values in any region. */
const PSEUDO: Readonly<Record<string, string>> = {
  'AWS::Partition': 'aws-us-gov',
  'AWS::Region': 'ap-southeast-1',
  'AWS::AccountId': '000000000000',
}
/** The beginning of an ARN, up to the name: `arn:aws-us-gov:dynamodb:ap-southeast-1:000000000000:table/`. */
const ARN_CHARACTERS = 60
/** What a name that CloudFormation gives has besides the names of stack and resource. */
const HASH_CHARACTERS = 15

function lengthened(value: unknown, nameLength: number): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(one => lengthened(one, nameLength))
  const [[name, argument] = ['', undefined]] = Object.entries(value)
  if (name === 'Fn::Join') {
    const [separator, texts] = lengthened(argument, nameLength) as [string, readonly string[]]
    return texts.join(separator)
  }
  if (name === 'Ref' || name.startsWith('Fn::')) {
    const own = HASH_CHARACTERS + nameLength + String([argument].flat()[0]).length
    return PSEUDO[String(argument)] ?? 'x'.repeat(name === 'Ref' ? own : ARN_CHARACTERS + own)
  }
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [key, lengthened(member, nameLength)]),
  )
}
