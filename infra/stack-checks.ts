import { CfnOutput, CfnParameter, CfnResource, type NestedStack, Stack, Token } from 'aws-cdk-lib'
import { CfnEventBus } from 'aws-cdk-lib/aws-events'
import { CfnQueue } from 'aws-cdk-lib/aws-sqs'
import type { Construct, IConstruct } from 'constructs'
import { illegal } from '../shared/core/values/values.ts'
import type { AlarmLevel } from './settings.ts'

/** The most resources of one stack. Source: CloudFormation quotas. */
const STACK_RESOURCES_MAX = 500
/** The most parameters of one template. Source: CloudFormation quotas. */
const STACK_PARAMETERS_MAX = 200
/** The most outputs of one template. Source: CloudFormation quotas. */
const STACK_OUTPUTS_MAX = 200

type NamedSystem = Construct & { readonly systemName: string }

/** @throws BatonError `invalid` for a second system of the same name, because both would share queues, even in different stacks. */
export function refuseSameName(system: NamedSystem, isSystem: (one: IConstruct) => one is NamedSystem): void {
  const twin = system.node.root.node
    .findAll()
    .filter(isSystem)
    .find(
      other =>
        other !== system && other.systemName === system.systemName && mayShareEnvironment(other, system),
    )
  if (!twin) return
  throw illegal(
    `${twin.node.path} is already named '${system.systemName}', and both may be deployed to one account and region; ` +
      "give one of them another 'systemName', or give their stacks different environments",
  )
}

/** Returns one sentence for each reason for which CloudFormation would refuse the stacks of a system. */
export function stackProblems(
  system: Construct,
  handlers: Construct,
  nestedStacks: readonly NestedStack[],
  alarms: AlarmLevel,
): string[] {
  return [
    ...collidingNames(system),
    ...tooManyResources(system, handlers, alarms),
    ...nestedStacks.flatMap(nested => overfullNestedStack(system, nested)),
  ]
}

/**
 * Whether two constructs may be deployed to one account and region, where names must be unique. A stack without a fixed
 * environment may be deployed together with any other.
 */
function mayShareEnvironment(one: IConstruct, other: IConstruct): boolean {
  const [a, b] = [Stack.of(one), Stack.of(other)]
  const mayBeSame = (mine: string, theirs: string) =>
    mine === theirs || Token.isUnresolved(mine) || Token.isUnresolved(theirs)
  return mayBeSame(a.account, b.account) && mayBeSame(a.region, b.region)
}

/** Returns one sentence for each queue or event bus of `system` that shares its name with another construct of the app. */
function collidingNames(system: Construct): string[] {
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
function tooManyResources(system: Construct, handlers: Construct, alarms: AlarmLevel): string[] {
  const stack = Stack.of(system)
  const total = resourcesOf(stack, stack)
  if (total <= STACK_RESOURCES_MAX) return []
  const servers = handlers.node.children.length
  const each = Math.ceil(resourcesOf(handlers, stack) / Math.max(1, servers))
  const lessAlarms = alarms === 'all' ? "set alarms to 'essential', which saves two a handler, " : ''
  return [
    `the stack ${stack.stackName} has ${total} resources, and CloudFormation allows ${STACK_RESOURCES_MAX}. ` +
      `The ${servers} handlers, worker services and flows of ${system.node.path} in it take about ${each} each: ` +
      `${lessAlarms}serve several types with one worker service, claim some over HTTP, move some to another system's stack, ` +
      'or move other resources out of this stack',
  ]
}

/** Returns the problems of a nested stack of handlers that CloudFormation would refuse. */
function overfullNestedStack(system: Construct, nested: NestedStack): string[] {
  const all = nested.node.findAll().filter(one => Stack.of(one) === nested)
  const counts = [
    ['resources', resourcesOf(nested, nested), STACK_RESOURCES_MAX],
    ['parameters', all.filter(one => one instanceof CfnParameter).length, STACK_PARAMETERS_MAX],
    ['outputs', all.filter(one => one instanceof CfnOutput).length, STACK_OUTPUTS_MAX],
  ] as const
  return counts
    .filter(([, count, most]) => count > most)
    .map(
      ([what, count, most]) =>
        `the nested stack ${nested.node.id} of ${system.node.path} has ${count} ${what}, and CloudFormation allows ${most}. ${HELP[what]}`,
    )
}

const HELP = {
  resources:
    "Move some of its handlers to another system's stack, or serve several types with one worker service",
  parameters:
    'Each resource of another stack to which its handlers refer takes one: let several handlers share resources',
  outputs: 'Each of its resources to which another stack refers takes one: refer to fewer of them',
}

function resourcesOf(construct: Construct, stack: Stack): number {
  return construct.node.findAll().filter(one => CfnResource.isCfnResource(one) && Stack.of(one) === stack)
    .length
}
