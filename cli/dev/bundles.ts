/**
 * The code of handlers. A handler is bundled when it gets its first message, so that 90 handlers do not delay the start. From then on
 * esbuild keeps what it has parsed, and bundles again in some 50 ms when a file of the bundle changes. Each bundle stands in a
 * folder of its own: processes on the old code still read theirs.
 */

import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { BuildContext, Metafile, OutputFile } from 'esbuild'
import { findEsbuild, inputFiles, refusalText } from '../../infra/bundling/esbuild-parts.ts'
import { BatonError } from '../../shared/core/errors.ts'
import { messageOf } from '../say.ts'
import type { Project } from './synthesis/project.ts'
import type { BundleSpec } from './synthesis/systems.ts'

/** A bundle that has been made again. */
export type Rebuilt = {
  readonly key: string
  readonly types: readonly string[]
  /** The folder with its code, or why there is none. It is undefined when the code is the same as before. */
  readonly outcome: { readonly folder: string } | { readonly problem: string } | undefined
}

export type Bundles = {
  /**
   * Returns the folder with the code of a function, and bundles it at the first call. `key` names the function.
   *
   * @throws BatonError `invalid` with file, line and message when esbuild refuses the code.
   */
  folderOf(key: string, spec: BundleSpec): Promise<string>
  /** Bundles again what was made from one of these files, and what could not be bundled before. */
  rebuild(files: ReadonlySet<string>): Promise<Rebuilt[]>
  /** All files that bundles were made from. */
  inputs(): string[]
  stop(): Promise<void>
}

/** Files that change how code is bundled, and that no bundle lists. */
const SETTINGS = /^(?:tsconfig.*\.json|package\.json)$/

export function createBundles(project: Project): Bundles {
  const root = join(project.generated, 'dev')
  rmSync(root, { recursive: true, force: true })
  const bundles = new Map<string, Bundle>()

  function bundleOf(key: string, spec: BundleSpec): Bundle {
    const known = bundles.get(key)
    if (known && JSON.stringify(known.spec) === JSON.stringify(spec)) return known
    void known?.dispose()
    const fresh = openBundle(project, join(root, key), spec)
    bundles.set(key, fresh)
    return fresh
  }

  async function again(key: string, bundle: Bundle): Promise<Rebuilt> {
    const { types } = bundle.spec
    const before = bundle.latest()
    try {
      const folder = await bundle.build()
      return { key, types, outcome: folder === before ? undefined : { folder } }
    } catch (error) {
      return { key, types, outcome: { problem: messageOf(error) } }
    }
  }

  return {
    folderOf: async (key, spec) => {
      const bundle = bundleOf(key, spec)
      return bundle.folder() ?? bundle.build()
    },
    rebuild: async files => {
      const isForAll = [...files].some(file => SETTINGS.test(basename(file)))
      const affected = [...bundles].filter(([, bundle]) => isForAll || bundle.dependsOn(files))
      return Promise.all(affected.map(([key, bundle]) => again(key, bundle)))
    },
    inputs: () => [...bundles.values()].flatMap(bundle => bundle.inputs()),
    stop: async () => void (await Promise.all([...bundles.values()].map(bundle => bundle.dispose()))),
  }
}

/** The bundle of one function. */
type Bundle = {
  readonly spec: BundleSpec
  /** The folder with the present code; undefined before the first success, and while the code is broken. */
  folder(): string | undefined
  /** The folder of the last success. */
  latest(): string | undefined
  inputs(): readonly string[]
  dependsOn(files: ReadonlySet<string>): boolean
  /** Bundles, and returns the folder of the code: a new one if the code is new. */
  build(): Promise<string>
  dispose(): Promise<void>
}

/** The folders of a bundle that are kept: processes on old code may still read their source maps. */
const FOLDERS_KEPT = 3

function openBundle(project: Project, root: string, spec: BundleSpec): Bundle {
  const folders: string[] = []
  let context: Promise<BuildContext> | undefined
  let inputs: ReadonlySet<string> = new Set()
  let isBroken = false
  let digest = ''
  let last: Promise<unknown> = Promise.resolve()

  async function build(): Promise<string> {
    context ??= createContext(project, spec)
    try {
      const made = await (await context).rebuild()
      isBroken = false
      inputs = new Set(inputFiles(made.metafile as Metafile, project.folder))
      return keep(made.outputFiles ?? [])
    } catch (cause) {
      isBroken = true
      throw bundleError(cause, spec, project)
    }
  }

  function keep(files: readonly OutputFile[]): string {
    const latest = folders.at(-1)
    const fresh = digestOf(files)
    if (latest !== undefined && fresh === digest) return latest
    const folder = join(root, fresh.slice(0, 16))
    writeBundle(folder, files, spec)
    digest = fresh
    // The same code may come back: its folder is then the newest again.
    for (const [index, one] of folders.entries()) if (one === folder) folders.splice(index, 1)
    folders.push(folder)
    for (const old of folders.splice(0, Math.max(0, folders.length - FOLDERS_KEPT)))
      rmSync(old, { recursive: true, force: true })
    return folder
  }

  return {
    spec,
    folder: () => (isBroken ? undefined : folders.at(-1)),
    latest: () => folders.at(-1),
    inputs: () => [...inputs],
    dependsOn: files => isBroken || [...files].some(file => inputs.has(file)),
    build: () => {
      const next = last.then(build)
      last = next.catch(() => undefined)
      return next
    },
    dispose: async () => (await context?.catch(() => undefined))?.dispose(),
  }
}

async function createContext(project: Project, { entry, options, nodeModules }: BundleSpec) {
  const { context } = esbuildOf(project)
  const external = [...((options.external as readonly string[] | undefined) ?? []), ...nodeModules]
  return context({
    ...options,
    entryPoints: [entry],
    absWorkingDir: project.folder,
    outfile: join(project.generated, 'index.mjs'),
    // The bundle is written deeper than `outfile` says. Stack traces show the files of the project all the same.
    sourceRoot: pathToFileURL(join(project.generated, '/')).href,
    external,
    // Code that is not minified is written faster, and debuggers show it.
    minify: false,
    write: false,
    metafile: true,
    logLevel: 'silent',
  })
}

function esbuildOf({ folder }: Project): typeof import('esbuild') {
  const found = findEsbuild(folder, import.meta.url)
  if (found) return found
  throw new BatonError('misconfigured', 'handlers are bundled with esbuild: npm install --save-dev esbuild')
}

function digestOf(files: readonly OutputFile[]): string {
  const hash = createHash('sha256')
  for (const { contents } of files) hash.update(contents)
  return hash.digest('hex')
}

function writeBundle(folder: string, files: readonly OutputFile[], { nodeModules, root }: BundleSpec): void {
  mkdirSync(join(folder, 'node_modules'), { recursive: true })
  for (const { path, contents } of files) writeFileSync(join(folder, basename(path)), contents)
  for (const name of nodeModules) linkPackage(folder, name, root)
}

/** Links a package that stays outside of the bundle, as the handler would find it. */
function linkPackage(folder: string, name: string, root: string): void {
  const target = packageFolder(root, name)
  const link = join(folder, 'node_modules', name)
  if (target === undefined || existsSync(link)) return
  mkdirSync(dirname(link), { recursive: true })
  symlinkSync(target, link, 'dir')
}

function packageFolder(from: string, name: string): string | undefined {
  for (let place = from; ; place = dirname(place)) {
    const folder = join(place, 'node_modules', name)
    if (existsSync(folder)) return realpathSync(folder)
    if (place === dirname(place)) return undefined
  }
}

/** What esbuild refuses, by file, line and column. */
function bundleError(cause: unknown, { types }: BundleSpec, { folder }: Project): unknown {
  const refusal = refusalText(cause, folder)
  if (refusal === undefined) return cause
  return new BatonError('invalid', `${types.join(', ')} cannot be bundled: ${refusal}`, { cause })
}
