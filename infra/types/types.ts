/**
 * The task types that an app adds to its system. `definition.ts` reads a definition from its file; `handler-function.ts`
 * serves a type with a Lambda function, `worker-queue.ts` with a queue for workers that run anywhere. `flow-registration.ts`
 * adds a flow, which needs neither. `refuse-props.ts` says which options are legal. This file registers all of them.
 */

import { relative } from 'node:path'
import { CustomResource, Duration } from 'aws-cdk-lib'
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda'
import { Construct, DependencyGroup } from 'constructs'
import type { TypeKind } from '../../shared/core/states.ts'
import type { TaskType, TypeConfiguration } from '../../shared/core/types/task-type.ts'
import { REGISTRAR_TIMEOUT_S, REGISTRATION_WAIT_S } from '../bounds.ts'
import { systemCode } from '../bundling/system-code.ts'
import { createFunction } from '../functions/functions.ts'
import type { Parts } from '../parts.ts'
import type { FoundDefinition, TaskSpec } from './definition.ts'

/** Registers deployed types, and marks a type when its handler is deleted. */
export class TypeRegistrar extends Construct {
  readonly function: LambdaFunction
  private readonly served = new DependencyGroup()
  private readonly kinds = new Map<string, TypeKind>()

  constructor(scope: Construct, id: string, { settings, table, messages }: Parts) {
    super(scope, id)
    this.function = createFunction(this, settings, {
      code: systemCode(this, 'registrar'),
      description: 'Baton: makes deployed task types known',
      timeout: Duration.seconds(REGISTRAR_TIMEOUT_S),
    })
    table.openTo(this.function, { items: ['GetItem', 'PutItem'], queries: ['items'] })
    // When a deployment changes limits or order, the registrar sends a job. The jobs function applies it to waiting tasks.
    messages.openTo(this.function, { jobs: true })
  }

  /** Registers a type. A Lambda function serves it unless `server` says otherwise. */
  register(scope: Construct, id: string, spec: TaskSpec, server: Server = {}): CustomResource {
    const registration = this.registration(scope, id, spec, server)
    this.served.add(registration)
    return registration
  }

  /** Registers a flow after all served types, even those that the app adds later. */
  registerFlow(scope: Construct, id: string, spec: FoundDefinition): CustomResource {
    const registration = this.registration(scope, id, spec, {})
    registration.node.addDependency(this.served)
    registration.node.addValidation({ validate: () => this.stepProblems(spec) })
    return registration
  }

  /** Sends the configuration as JSON text, since CloudFormation turns every number into text. */
  private registration(
    scope: Construct,
    id: string,
    { type, config }: TaskSpec,
    { servedBy, version }: Server,
  ): CustomResource {
    this.kinds.set(type, config.kind)
    return new CustomResource(scope, id, {
      resourceType: 'Custom::BatonType',
      serviceToken: this.function.functionArn,
      serviceTimeout: Duration.seconds(REGISTRATION_WAIT_S),
      properties: {
        type,
        configuration: JSON.stringify(config),
        ...(servedBy && { servedBy }),
        ...(version !== undefined && { version }),
      },
    })
  }

  /**
   * Finds the steps of a flow that no handler or worker serves. A step given as a definition must be served by this system. A
   * step given by the name of its type may be served elsewhere.
   */
  private stepProblems({ file, type, config, tasks = [] }: FoundDefinition): string[] {
    const defined = new Map(tasks.map(task => [task.type, task.config.kind]))
    return stepsIn(config).flatMap(({ path, type: step }) => {
      const where = `${relative(process.cwd(), file)}, flow '${type}': ${path}`
      if (this.kinds.get(step) === 'flow')
        return [`${where} must name a type that is not a flow; '${step}' is a flow`]
      const isServed = this.kinds.has(step) || !defined.has(step) || defined.get(step) === 'http'
      if (isServed) return []
      const help = 'add it with addHandler, addWorkerQueue or addWorkerService'
      return [`${where} is done by '${step}', which nothing here serves; ${help}`]
    })
  }
}

type Server = { readonly servedBy?: TaskType['servedBy']; readonly version?: string | undefined }

function stepsIn({ steps = [] }: TypeConfiguration): Array<{ readonly path: string; readonly type: string }> {
  return steps.flatMap((step, index) => [
    { path: `steps.${index}.do`, type: step.do.type },
    ...(step.undo ? [{ path: `steps.${index}.undo`, type: step.undo.type }] : []),
  ])
}
