import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { BUNDLE_METADATA, type BundleSpec } from '../../../infra/bundling/esbuild.ts'
import { ACCOUNT_ID, REGION } from '../../../local/account.ts'

/** A type that the stack registers. */
export type DeployedType = {
  readonly type: string
  readonly configuration: string
  readonly kind: string
  readonly servedBy: 'function' | 'workers'
}

/** A stack with a task system, as the app describes it. */
export type System = ReturnType<typeof describe>

type Artifact = {
  readonly type: string
  readonly environment?: string
  readonly displayName?: string
  readonly properties?: { readonly templateFile?: string; readonly directoryName?: string }
}

type Resource = {
  readonly Type: string
  readonly Properties?: Readonly<Record<string, unknown>>
  readonly Metadata?: Readonly<Record<string, unknown>>
}

type Template = {
  readonly Resources?: Readonly<Record<string, Resource>>
  readonly Outputs?: Readonly<Record<string, unknown>>
}

/** Finds the stacks with a task system in a cloud assembly and in the assemblies of its stages. */
export function findSystems(assemblyDir: string): System[] {
  return stacksIn(assemblyDir).flatMap(stack => {
    const root = readTemplate(stack, stack.templateFile)
    return hasTaskSystem(root.template) ? [describe(stack, root)] : []
  })
}

/** The paths of all stacks of an app, for a message. */
export function stackLabels(assemblyDir: string): string[] {
  return stacksIn(assemblyDir).map(({ label }) => label)
}

/** Names a stack among all of the app. Stages may have stacks of one name, but each stack has a path in the app of its own. */
export function keyOf({ label }: Pick<System, 'label'>): string {
  return label
}

type FoundStack = {
  readonly folder: string
  readonly templateFile: string
  readonly label: string
  readonly environment: string | undefined
}

function stacksIn(folder: string): FoundStack[] {
  const manifest = JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8')) as {
    readonly artifacts?: Readonly<Record<string, Artifact>>
  }
  return Object.entries(manifest.artifacts ?? {}).flatMap(([id, artifact]) => {
    const { type, displayName, environment } = artifact
    const { templateFile, directoryName } = artifact.properties ?? {}
    if (type === 'cdk:cloud-assembly' && directoryName) return stacksIn(join(folder, directoryName))
    if (type !== 'aws:cloudformation:stack' || !templateFile) return []
    return [{ folder, templateFile, environment, label: displayName ?? id }]
  })
}

/** A task system has outputs by which its workers find it. */
function hasTaskSystem({ Outputs = {} }: Template): boolean {
  const prefixes = Object.keys(Outputs)
    .filter(name => name.endsWith('WakeQueueUrl'))
    .map(name => name.slice(0, -'WakeQueueUrl'.length))
  return prefixes.some(prefix =>
    ['ApiUrl', 'TableName', 'SystemName'].every(name => prefix + name in Outputs),
  )
}

type Read = { readonly text: string; readonly template: Template }

function readTemplate({ folder, environment }: FoundStack, file: string): Read {
  const text = readInLocalPlace(join(folder, file), environment)
  return { text, template: JSON.parse(text) as Template }
}

function describe(stack: FoundStack, root: Read) {
  const templates = [root, ...nestedBelow(stack, root)]
  const resources = templates.flatMap(({ template }) => Object.entries(template.Resources ?? {}))
  const functions = resources.filter(([, { Type }]) => Type === 'AWS::Lambda::Function')
  return {
    /** The name by which the local cloud finds the stack in `assemblyDir`. */
    stackName: stack.templateFile.replace(/\.template\.json$/, ''),
    assemblyDir: stack.folder,
    /** The path of the stack in the app. */
    label: stack.label,
    types: resources.flatMap(([, resource]) => typeOf(resource)) as readonly DeployedType[],
    handlers: functions.flatMap(([functionId, { Metadata }]) => {
      const bundle = Metadata?.[BUNDLE_METADATA] as BundleSpec | undefined
      return bundle ? [{ functionId, bundle }] : []
    }),
    /** The logical ids of Baton's own functions. */
    ownFunctions: new Set(functions.filter(([, one]) => isOwn(one)).map(([id]) => id)),
    /** All that the local cloud reads of the stack. Two equal texts need no new deployment. */
    text: templates.map(({ text }) => text).join('\n'),
  }
}

function nestedBelow(stack: FoundStack, { template }: Read): Read[] {
  return Object.values(template.Resources ?? {}).flatMap(({ Type, Metadata }) => {
    const path = Metadata?.['aws:asset:path']
    if (Type !== 'AWS::CloudFormation::Stack' || typeof path !== 'string') return []
    const nested = readTemplate(stack, path)
    return [nested, ...nestedBelow(stack, nested)]
  })
}

function typeOf({ Type, Properties = {} }: Resource): DeployedType[] {
  const { type, configuration, servedBy } = Properties
  if (Type !== 'Custom::BatonType' || typeof type !== 'string' || typeof configuration !== 'string') return []
  const { kind } = JSON.parse(configuration) as { readonly kind: string }
  return [{ type, configuration, kind, servedBy: servedBy === 'workers' ? 'workers' : 'function' }]
}

/** Whether a function is one of Baton's own, by the namespace of their metrics. Handlers have it, too, and a bundle. */
function isOwn({ Properties = {}, Metadata = {} }: Resource): boolean {
  const { Variables = {} } = (Properties.Environment ?? {}) as { Variables?: Record<string, unknown> }
  return Variables.POWERTOOLS_METRICS_NAMESPACE === 'Baton' && !(BUNDLE_METADATA in Metadata)
}

/** The environment of a stack, as the assembly names it. A stack without `env` has `unknown-account` or `unknown-region`. */
const ENVIRONMENT = /^aws:\/\/(\d{12}|unknown-account)\/([a-z0-9-]+)$/

/**
 * Reads a template, and moves it to the account and region of the local cloud. A stack with an `env` of its own names both in
 * its ARNs, where a stack without one has references. The file is changed, too: the local cloud reads it.
 */
function readInLocalPlace(file: string, environment: string | undefined): string {
  const text = readFileSync(file, 'utf8')
  const [, account = '', region = ''] = ENVIRONMENT.exec(environment ?? '') ?? []
  const moved = text
    .replaceAll(...pair(account, 'unknown-account', ACCOUNT_ID))
    .replaceAll(...pair(region, 'unknown-region', REGION))
  if (moved !== text) writeFileSync(file, moved)
  return moved
}

function pair(named: string, unknown: string, local: string): [string, string] {
  return named === '' || named === unknown ? [local, local] : [named, local]
}

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

/** The constructs of the app that represent resources outside of it. The assembly does not say which of them are looked up. */
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
