import { CfnResource, Stack, Token } from 'aws-cdk-lib'
import { CfnEventBus } from 'aws-cdk-lib/aws-events'
import { CfnQueue } from 'aws-cdk-lib/aws-sqs'
import type { Construct, IConstruct } from 'constructs'
import { STACK_RESOURCES_MAX } from './bounds.ts'

/**
 * Whether two constructs may be deployed to one account and region, where names must be unique. A stack without a fixed
 * environment may be deployed beside any other.
 */
export function mayShareEnvironment(one: IConstruct, other: IConstruct): boolean {
  const [a, b] = [Stack.of(one), Stack.of(other)]
  return mayBeSame(a.account, b.account) && mayBeSame(a.region, b.region)
}

function mayBeSame(one: string, other: string): boolean {
  return one === other || Token.isUnresolved(one) || Token.isUnresolved(other)
}

/** Returns one sentence for each queue or event bus of `system` that shares its name with another construct of the app. */
export function collidingNames(system: Construct): string[] {
  const all = system.node.root.node.findAll().flatMap(named)
  const own = all.filter(({ construct }) => construct.node.path.startsWith(`${system.node.path}/`))
  return own.flatMap(({ construct, name }) => {
    const twin = all.find(
      other =>
        other.construct !== construct &&
        other.name === name &&
        mayShareEnvironment(other.construct, construct),
    )
    return twin
      ? `${construct.node.path} and ${twin.construct.node.path} are both named '${name}' in one account and region; give one of them another name`
      : []
  })
}

function named(construct: IConstruct): Array<{ readonly construct: IConstruct; readonly name: string }> {
  const name =
    construct instanceof CfnQueue
      ? construct.queueName
      : construct instanceof CfnEventBus
        ? construct.name
        : undefined
  return name === undefined || Token.isUnresolved(name) ? [] : [{ construct, name }]
}

/**
 * Returns the problem of a stack with more resources than CloudFormation allows. CDK's own error does not say what the
 * resources are for. From 400 resources on, CDK reports their number.
 */
export function tooManyResources(system: Construct, handlers: Construct): string[] {
  const stack = Stack.of(system)
  const total = resourcesOf(stack, stack)
  if (total <= STACK_RESOURCES_MAX) return []
  const servers = handlers.node.children.length
  const each = Math.ceil(resourcesOf(handlers, stack) / Math.max(1, servers))
  return [
    `the stack ${stack.stackName} has ${total} resources, and CloudFormation allows ${STACK_RESOURCES_MAX}. ` +
      `The ${servers} handlers, worker services and flows of ${system.node.path} take about ${each} each: ` +
      "serve several types with one worker service, claim some over HTTP, or move some to another system's stack",
  ]
}

function resourcesOf(construct: Construct, stack: Stack): number {
  return construct.node.findAll().filter(one => CfnResource.isCfnResource(one) && Stack.of(one) === stack)
    .length
}
