/**
 * What code may do in the account. A grant adds the actions and the environment variable that goes with them in one call
 * (`allow`). `table-access.ts` holds code of users to the partitions of its types (`partitions.ts`); `type-reach.ts`
 * adds the flows that these types take part in; `api-access.ts` lists the routes that a principal may call.
 */

import { Effect, type IRole, PolicyStatement } from 'aws-cdk-lib/aws-iam'

/** What runs code: a Lambda function, or a container together with its task's role. */
export type Grantee = {
  addToRolePolicy(statement: PolicyStatement): void
  addEnvironment(name: string, value: string): unknown
}

export type Conditions = Readonly<Record<string, Readonly<Record<string, string | readonly string[]>>>>

export type Permission = {
  /** Takes away what other statements allow. */
  readonly isDenied?: true
  readonly actions: readonly string[]
  /** ARNs; none means that nothing is allowed. */
  readonly resources: readonly string[]
  readonly conditions?: Conditions
  /** Variables that tell the code where these resources are. */
  readonly environment?: Readonly<Record<string, string>>
}

/** Allows something and tells the code where it is, in one call, so that neither is given without the other. */
export function allow(runner: Grantee, permission: Permission): void {
  const { actions, resources, conditions, isDenied, environment = {} } = permission
  if (actions.length > 0 && resources.length > 0) {
    runner.addToRolePolicy(
      new PolicyStatement({
        effect: isDenied ? Effect.DENY : Effect.ALLOW,
        actions: [...actions],
        resources: [...resources],
        ...(conditions && { conditions: { ...conditions } }),
      }),
    )
  }
  for (const [name, value] of Object.entries(environment)) runner.addEnvironment(name, value)
}

/** What runs under a role and is given its environment by the user. */
export function granteeUnder(role: IRole): {
  readonly runner: Grantee
  readonly environment: Readonly<Record<string, string>>
} {
  const environment: Record<string, string> = {}
  const runner: Grantee = {
    addToRolePolicy: statement => role.addToPrincipalPolicy(statement),
    addEnvironment: (name, value) => {
      environment[name] = value
    },
  }
  return { runner, environment }
}
