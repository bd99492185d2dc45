import { type Access, refused } from './call.ts'
import { membersIn, query, textsIn } from './query.ts'

/** A resource of a stack, as CloudFormation names it. */
export type StackResource = {
  /** Such as `AWS::Lambda::Function`. */
  readonly type: string
  readonly logicalId: string
  /** What its service calls it: the name of a function or an alarm, the URL of a queue. */
  readonly physicalId: string
}

const NESTED_STACK = 'AWS::CloudFormation::Stack'

/**
 * Reads the resources of a stack and of the stacks in it, into which the CDK app puts handlers that do not fit. A page has up to 100.
 *
 * @throws BatonError `refused` when the credentials may not read them, `unavailable` when CloudFormation does not answer
 */
export async function readResources(stack: string, access: Access): Promise<readonly StackResource[]> {
  const own: StackResource[] = []
  let next: string | undefined
  do {
    const parameters = { StackName: stack, ...(next !== undefined && { NextToken: next }) }
    const answer = await query(
      { service: 'cloudformation', action: 'ListStackResources', parameters },
      access,
    )
    if (typeof answer !== 'string')
      throw refused(
        `the resources of the stack ${stack}`,
        'cloudformation:ListStackResources',
        answer,
        access,
      )
    own.push(...membersIn(answer, 'StackResourceSummaries').map(resourceIn))
    ;[next] = textsIn(answer, 'NextToken')
  } while (next !== undefined)
  const nested = own.filter(({ type }) => type === NESTED_STACK)
  const inner: StackResource[] = []
  for (const { physicalId } of nested) inner.push(...(await readResources(physicalId, access)))
  return [...own, ...inner]
}

function resourceIn(member: string): StackResource {
  const text = (name: string) => textsIn(member, name)[0] ?? ''
  return {
    type: text('ResourceType'),
    logicalId: text('LogicalResourceId'),
    physicalId: text('PhysicalResourceId'),
  }
}

/** The physical ids of the resources of a type. A resource that is being created has none yet. */
export function idsOf(resources: readonly StackResource[], type: string): string[] {
  return resources
    .filter(one => one.type === type && one.physicalId !== '')
    .map(({ physicalId }) => physicalId)
}
