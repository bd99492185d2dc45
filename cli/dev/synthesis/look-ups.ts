import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

type Missing = {
  readonly provider: string
  readonly props: Readonly<Record<string, unknown>>
}

type Manifest = {
  readonly missing?: readonly Missing[]
  readonly artifacts?: Readonly<
    Record<string, { readonly environment?: string; readonly displayName?: string }>
  >
}

type TreeNode = {
  readonly path: string
  readonly children?: Readonly<Record<string, TreeNode>>
  readonly constructInfo?: { readonly fqn: string }
}

/** Look-ups whose answer has no effect here: the local cloud has no network. */
const WITHOUT_EFFECT = new Set(['availability-zones', 'endpoint-service-availability-zones'])

/** Properties of every look-up that say nothing about what is looked up. */
const GENERAL_PROPS = new Set([
  'account',
  'region',
  'lookupRoleArn',
  'dummyValue',
  'ignoreErrorOnMissingContext',
])

/**
 * One line for each look-up in AWS that an assembly lacks. The CDK has put a placeholder in its place, with which the app runs here:
 * `baton dev` calls nothing in AWS.
 */
export function lookUpLines(assemblyDir: string): string[] {
  const manifest = readJson(join(assemblyDir, 'manifest.json')) as Manifest
  const needed = (manifest.missing ?? []).filter(({ provider }) => !WITHOUT_EFFECT.has(provider))
  const imported = needed.length > 0 ? importedConstructs(assemblyDir) : []
  return needed.map(one => lineOf(one, imported, manifest))
}

function lineOf(one: Missing, imported: readonly TreeNode[], manifest: Manifest): string {
  const { provider, props } = one
  const candidates = imported.filter(node => mayComeFrom(provider, node)).map(({ path }) => path)
  const construct = (candidates.length > 0 ? candidates : stacksOf(one, manifest)).join(' or ')
  const wanted = Object.entries(props)
    .filter(([name]) => !GENERAL_PROPS.has(name))
    .map(([name, value]) => `${name} ${typeof value === 'string' ? value : JSON.stringify(value)}`)
  return (
    `${construct} looks up in AWS (${[provider, ...wanted].join(', ')}) and gets a placeholder here; ` +
    "'cdk synth' with credentials keeps the true answer in cdk.context.json"
  )
}

/** The stacks of the account and region in which the look-up would be made. */
function stacksOf({ props }: Missing, { artifacts = {} }: Manifest): string[] {
  const environment = `aws://${props.account}/${props.region}`
  const stacks = Object.entries(artifacts).filter(([, artifact]) => artifact.environment === environment)
  return stacks.map(([id, { displayName }]) => displayName ?? id)
}

/** A VPC brings subnets. The other look-ups give constructs without parts, and a parameter gives only a text. */
function mayComeFrom(provider: string, { children = {} }: TreeNode): boolean {
  const hasSubnets = Object.keys(children).some(id => /Subnet\d+$/.test(id))
  if (provider === 'vpc-provider') return hasSubnets
  return !provider.startsWith('ssm') && !hasSubnets
}

const IMPORTED = 'aws-cdk-lib.Resource'

/** The constructs of the app that stand for resources outside of it. Which of them are looked up, the assembly does not tell. */
function importedConstructs(assemblyDir: string): TreeNode[] {
  const file = join(assemblyDir, 'tree.json')
  if (!existsSync(file)) return []
  const { tree } = readJson(file) as { readonly tree: TreeNode }
  return importedBelow(tree)
}

function importedBelow(node: TreeNode): TreeNode[] {
  if (node.constructInfo?.fqn === IMPORTED) return [node]
  return Object.values(node.children ?? {}).flatMap(importedBelow)
}

function readJson(file: string): unknown {
  return JSON.parse(readFileSync(file, 'utf8'))
}
