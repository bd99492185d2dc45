import { Annotations, CustomResource, Duration } from 'aws-cdk-lib'
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda'
import { Construct, DependencyGroup } from 'constructs'
import { scaleWarnings } from '../shared/core/control/scale-warnings.ts'
import type { TaskType } from '../shared/core/task-type.ts'
import type { TaskSpec } from './definition.ts'
import { functionFile } from './function-file.ts'
import { REGISTRAR_TIMEOUT_S, REGISTRATION_WAIT_S } from './limits.ts'
import type { Parts } from './parts.ts'
import { createFunction } from './system-function.ts'

/** Makes deployed types known to the system, and marks them when their handler goes. */
export class TypeRegistrar extends Construct {
  readonly function: LambdaFunction
  private readonly served = new DependencyGroup()

  constructor(scope: Construct, id: string, { settings, table, messages }: Parts) {
    super(scope, id)
    this.function = createFunction(this, settings, {
      entry: functionFile('registrar.ts'),
      description: 'Baton: makes deployed task types known',
      timeout: Duration.seconds(REGISTRAR_TIMEOUT_S),
    })
    table.openTo(this.function, { items: ['GetItem', 'PutItem'], queries: ['items'] })
    // A deployment that changes limits or order has the jobs function apply it to what waits.
    messages.openTo(this.function, { jobs: true })
  }

  /** The registration of a type that is served: by a Lambda function unless said otherwise. */
  register(scope: Construct, id: string, spec: TaskSpec, servedBy?: TaskType['servedBy']): CustomResource {
    const registration = this.registration(scope, id, spec, servedBy)
    this.served.add(registration)
    return registration
  }

  /** The registration of a flow, after those of all types that are served, whether they were added before or after it. */
  registerFlow(scope: Construct, id: string, spec: TaskSpec): CustomResource {
    const registration = this.registration(scope, id, spec)
    registration.node.addDependency(this.served)
    return registration
  }

  /** The configuration is JSON text, since CloudFormation makes text of every number. */
  private registration(
    scope: Construct,
    id: string,
    { type, config }: TaskSpec,
    servedBy?: TaskType['servedBy'],
  ): CustomResource {
    for (const warning of scaleWarnings(config)) {
      Annotations.of(scope).addWarningV2(`baton:${type}:scale`, `${type}: ${warning}`)
    }
    return new CustomResource(scope, id, {
      resourceType: 'Custom::BatonType',
      serviceToken: this.function.functionArn,
      serviceTimeout: Duration.seconds(REGISTRATION_WAIT_S),
      properties: { type, configuration: JSON.stringify(config), ...(servedBy && { servedBy }) },
    })
  }
}
