import { CfnResource, Stack } from 'aws-cdk-lib'
import type { Construct } from 'constructs'
import { MAX_STACK_RESOURCES } from './limits.ts'

/**
 * What is wrong with a stack of more resources than CloudFormation takes: CDK's own error does not say what they are
 * for. From 400 resources on, CDK tells how many there are.
 */
export function tooManyResources(system: Construct, handlers: Construct): string[] {
  const stack = Stack.of(system)
  const inAll = resourcesOf(stack, stack)
  if (inAll <= MAX_STACK_RESOURCES) return []
  const served = handlers.node.children.length
  const each = Math.ceil(resourcesOf(handlers, stack) / Math.max(1, served))
  return [
    `the stack ${stack.stackName} has ${inAll} resources, and CloudFormation takes ${MAX_STACK_RESOURCES}. ` +
      `The ${served} handlers, worker services and flows of ${system.node.path} take about ${each} each: ` +
      "serve several types with one worker service, claim some over HTTP, or move some to another system's stack",
  ]
}

function resourcesOf(construct: Construct, stack: Stack): number {
  return construct.node.findAll().filter(one => CfnResource.isCfnResource(one) && Stack.of(one) === stack)
    .length
}
