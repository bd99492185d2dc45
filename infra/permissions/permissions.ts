/**
 * The permissions of code in the account. A grant adds the actions and the environment variables for them in one call (`allow`).
 * `table-access.ts` limits code of users to the partitions of its types. `partitions.ts` names these, and adds the flows whose steps
 * the types serve. `role-policies.ts` keeps the policies within IAM's quotas. `api-access.ts` lists the routes that a principal may call.
 */

import { Effect, type IRole, PolicyStatement } from 'aws-cdk-lib/aws-iam'

/** Code that is granted permissions: a Lambda function, or a container with the role of its ECS task. */
export type Grantee = {
  /** The role, to which managed policies are attached when a grant exceeds the inline policies of a role. */
  readonly role?: IRole | undefined
  addToRolePolicy(statement: PolicyStatement): void
  addEnvironment(name: string, value: string): unknown
}

type Conditions = Readonly<Record<string, Readonly<Record<string, string | readonly string[]>>>>

/** Patterns of partition keys. One request may name keys of all patterns of an inner list, so these are in one statement. */
export type KeyPatterns = ReadonlyArray<string | readonly string[]>

export type Permission = {
  /** Whether the statement denies what other statements allow. */
  readonly isDenied?: true
  readonly actions: readonly string[]
  /** ARNs. With an empty list nothing is allowed, but the variables are still set. */
  readonly resources: readonly string[]
  readonly conditions?: Conditions
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

export function statementOf({ actions, resources, conditions, keys, isDenied }: Permission): PolicyStatement {
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
export function granteeUnder(role: IRole): {
  readonly grantee: Grantee
  readonly environment: Readonly<Record<string, string>>
} {
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
