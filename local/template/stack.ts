import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ACCOUNT_ID, arnOf, REGION } from '../account.ts'
import { flatten } from './flatten.ts'
import { noValue, resolveIntrinsics, type Scope, type Template, type TemplateResource } from './intrinsics.ts'
import { type Described, emulationOf, type Surroundings } from './resource-types.ts'

/** One stack. Values are resolved at their first use, because some exist only after a part has started, e.g. a stream's ARN. */
export type Stack = ReturnType<typeof openStack>

export function openStack(assembly: Assembly, name: string, surroundings: Surroundings) {
  const { template } = assembly
  const id = arnOf('cloudformation', `stack/${name}/local`)
  const described = new Map<string, Described>()
  const scope = scopeOf(template, pseudoParameters(name, id), describe)

  function resource(logicalId: string) {
    const found = template.Resources[logicalId]
    if (found) return found
    throw new Error(`The template refers to ${logicalId}, which it does not define`)
  }

  const read = (logicalId: string, property: string) =>
    resolveIntrinsics(resource(logicalId).Properties?.[property], scope)

  function describe(logicalId: string): Described {
    const known = described.get(logicalId)
    if (known) return known
    const fresh = emulationOf(resource(logicalId).Type).describe({
      logicalId,
      stackName: name,
      surroundings,
      read: property => read(logicalId, property),
    })
    described.set(logicalId, fresh)
    return fresh
  }

  function ids(wanted?: string | ((type: string) => boolean)) {
    const exists = ({ Condition }: TemplateResource) => Condition === undefined || scope.condition(Condition)
    return Object.entries(template.Resources)
      .filter(([, entry]) => exists(entry) && matches(entry.Type, wanted))
      .map(([logicalId]) => logicalId)
  }

  return {
    name,
    id,
    /** Logical ids of the resources with a true condition, in the template's order. */
    ids,
    resource,
    /** Reads one top-level property with its intrinsics resolved. */
    read,
    properties: (logicalId: string) =>
      resolveIntrinsics(resource(logicalId).Properties ?? {}, scope) as Record<string, unknown>,
    describe,
    /** Adds values that are known only at run time. */
    learn: (logicalId: string, { attributes, ...found }: Partial<Described>) => {
      const before = describe(logicalId)
      described.set(logicalId, { ...before, ...found, attributes: { ...before.attributes, ...attributes } })
    },
    outputs: () => {
      const outputs = Object.entries(template.Outputs ?? {})
      return Object.fromEntries(outputs.map(([key, { Value }]) => [key, resolveIntrinsics(Value, scope)]))
    },
    byArn: (arn: string) => ids().find(logicalId => describe(logicalId).arn === arn),
  }
}

function matches(type: string, wanted: string | ((type: string) => boolean) | undefined) {
  if (wanted === undefined) return true
  return typeof wanted === 'string' ? type === wanted : wanted(type)
}

const pseudoParameters = (stackName: string, stackId: string): Record<string, unknown> => ({
  'AWS::Region': REGION,
  'AWS::AccountId': ACCOUNT_ID,
  'AWS::Partition': 'aws',
  'AWS::StackName': stackName,
  'AWS::StackId': stackId,
  'AWS::URLSuffix': 'amazonaws.com',
  'AWS::NoValue': noValue,
})

function scopeOf(
  template: Template,
  pseudo: Record<string, unknown>,
  describe: (logicalId: string) => Described,
): Scope {
  const scope: Scope = {
    ref: logicalId => {
      if (logicalId in pseudo) return pseudo[logicalId]
      const parameter = template.Parameters?.[logicalId]
      return parameter ? parameter.Default : describe(logicalId).physicalId
    },
    attribute: (logicalId, attribute) => {
      const found = describe(logicalId).attributes[attribute]
      if (found !== undefined) return found
      // The resource is reported as not supported. A function that only names it can still run.
      const isUnsupported = emulationOf(template.Resources[logicalId]?.Type ?? '').kind === 'unsupported'
      if (isUnsupported && template.Resources[logicalId]) return `unsupported-${logicalId}-${attribute}`
      throw new Error(
        `${logicalId} (${template.Resources[logicalId]?.Type}) has no attribute ${attribute} locally`,
      )
    },
    condition: condition => resolveIntrinsics(template.Conditions?.[condition], scope) === true,
    mapping: (map, top, second) => template.Mappings?.[map]?.[top]?.[second],
  }
  return scope
}

/**
 * CloudFormation: this file reads the synthesised template, `flatten.ts` puts nested stacks into it and replaces their names,
 * `intrinsics.ts` resolves its functions, `stack.ts` describes its resources, and `resource-types.ts` lists what is emulated.
 */

export type Assembly = ReturnType<typeof readAssembly>

type AssetManifest = {
  files?: Record<string, { source?: { path?: string } }>
  dockerImages?: Record<string, { source?: { directory?: string } }>
}

/** Reads one stack of a synthesised cloud assembly (`cdk.out`), with its nested stacks. Throws if the stack is not in it. */
export function readAssembly(assemblyDir: string, stackName: string) {
  const templateFile = join(assemblyDir, `${stackName}.template.json`)
  if (!existsSync(templateFile))
    throw new Error(`There is no template of stack ${stackName} in ${assemblyDir}; synthesise it first`)
  const manifest = readManifest(join(assemblyDir, `${stackName}.assets.json`))
  const assets = assetPathsOf(manifest)
  return {
    template: flatten(readJson(templateFile) as Template, nested => readNested(nested, assemblyDir, assets)),
    directory: assemblyDir,
    /** The folder with the code of a function's resource. */
    codeDirOf: (resource: TemplateResource) => codeDirOf(resource, assemblyDir, assets),
    /** The folder from which a container's image is built. */
    imageDirOf: (image: string) => imageDirOf(image, assemblyDir, manifest),
  }
}

/** The template of a nested stack is a file asset of its parent. Its URL ends with the hash of the asset. */
function readNested(nested: TemplateResource, assemblyDir: string, assets: ReadonlyMap<string, string>) {
  const hash = /\/([0-9a-f]{64})\.json"/.exec(JSON.stringify(nested.Properties?.TemplateURL ?? ''))?.[1]
  const path = nested.Metadata?.['aws:asset:path'] ?? (hash && assets.get(hash))
  return typeof path === 'string' ? (readJson(join(assemblyDir, path)) as Template) : undefined
}

// The metadata names the folder. Without metadata, the S3 key of the code still has the asset's hash.
function codeDirOf(resource: TemplateResource, assemblyDir: string, assets: ReadonlyMap<string, string>) {
  const code = (resource.Properties?.Code ?? {}) as { S3Key?: unknown; ZipFile?: unknown }
  const hash = typeof code.S3Key === 'string' ? code.S3Key.replace(/\.zip$/, '') : undefined
  const path = resource.Metadata?.['aws:asset:path'] ?? (hash && assets.get(hash))
  if (typeof path !== 'string') {
    const inline = code.ZipFile === undefined ? '' : ' (inline code is not supported)'
    throw new Error(`A function has no code asset in ${assemblyDir}${inline}`)
  }
  return join(assemblyDir, path)
}

/** The tag of an image that is built from the app is its asset's hash. */
function imageDirOf(image: string, assemblyDir: string, { dockerImages = {} }: AssetManifest) {
  const directory = dockerImages[image.slice(image.lastIndexOf(':') + 1)]?.source?.directory
  if (directory === undefined) throw new Error(`The image ${image} is not built from this app`)
  return join(assemblyDir, directory)
}

function readManifest(file: string): AssetManifest {
  return existsSync(file) ? (readJson(file) as AssetManifest) : {}
}

function assetPathsOf(manifest: AssetManifest) {
  const paths = Object.entries(manifest.files ?? {}).map(
    ([hash, { source }]) => [hash, source?.path] as const,
  )
  return new Map(paths.filter((entry): entry is readonly [string, string] => entry[1] !== undefined))
}

const readJson = (file: string): unknown => JSON.parse(readFileSync(file, 'utf8'))

/** Whether CloudFormation deploys resources of this type by calls of a function, their `ServiceToken`. */
export function isCustomResource(type: string): boolean {
  return type.startsWith('Custom::') || type === 'AWS::CloudFormation::CustomResource'
}
