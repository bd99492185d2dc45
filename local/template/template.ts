/**
 * CloudFormation: this file reads the synthesised template, `flatten.ts` puts nested stacks into it and replaces their
 * names, `intrinsics.ts` resolves its functions, `stack.ts` describes its resources, and `resource-types.ts` lists what is
 * emulated.
 */

import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { flatten } from './flatten.ts'
import type { Template, TemplateResource } from './intrinsics.ts'

export type Assembly = {
  readonly template: Template
  readonly directory: string
  /** The folder with the code of a function's resource. */
  codeDirOf(resource: TemplateResource): string
  /** The folder from which a container's image is built. */
  imageDirOf(image: string): string
}

type AssetManifest = {
  files?: Record<string, { source?: { path?: string } }>
  dockerImages?: Record<string, { source?: { directory?: string } }>
}

/** Reads one stack of a synthesised cloud assembly (`cdk.out`), with its nested stacks. Throws if the stack is not in it. */
export function readAssembly(assemblyDir: string, stackName: string): Assembly {
  const templateFile = join(assemblyDir, `${stackName}.template.json`)
  if (!existsSync(templateFile)) {
    throw new Error(`There is no template of stack ${stackName} in ${assemblyDir}; synthesise it first`)
  }
  const manifest = readManifest(join(assemblyDir, `${stackName}.assets.json`))
  const assets = assetPathsOf(manifest)
  return {
    template: flatten(readJson(templateFile) as Template, nested => readNested(nested, assemblyDir, assets)),
    directory: assemblyDir,
    codeDirOf: resource => codeDirOf(resource, assemblyDir, assets),
    imageDirOf: image => imageDirOf(image, assemblyDir, manifest),
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
