import { PolicyStatement } from 'aws-cdk-lib/aws-iam'

/** What runs code of the system: a function, or a container with its task's role. */
export type Runner = {
  addToRolePolicy(statement: PolicyStatement): void
  addEnvironment(name: string, value: string): unknown
}

export type Permission = {
  readonly actions: readonly string[]
  /** ARNs; none means that nothing is allowed. */
  readonly resources: readonly string[]
  readonly conditions?: Readonly<Record<string, Readonly<Record<string, string>>>>
  /** Variables that tell the code where these resources are. */
  readonly environment?: Readonly<Record<string, string>>
}

/** Allows something and tells the code where it is, in one call, so that neither is given without the other. */
export function allow(runner: Runner, permission: Permission): void {
  const { actions, resources, conditions, environment = {} } = permission
  if (actions.length > 0 && resources.length > 0) {
    runner.addToRolePolicy(
      new PolicyStatement({
        actions: [...actions],
        resources: [...resources],
        ...(conditions && { conditions: { ...conditions } }),
      }),
    )
  }
  for (const [name, value] of Object.entries(environment)) runner.addEnvironment(name, value)
}
