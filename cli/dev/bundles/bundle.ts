import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { BuildContext, BuildOptions, Metafile, OutputFile, Plugin } from 'esbuild'
import { type BundleSpec, findEsbuild, inputFiles, refusalText } from '../../../infra/bundling/esbuild.ts'
import { BatonError } from '../../../shared/core/values/values.ts'
import type { Project } from '../synthesis/synthesis.ts'

/** The bundle of one function, or of the executor. Each version has a folder of its own: processes on old code still read theirs. */
export type Bundle = ReturnType<typeof openBundle>

type Setting = {
  readonly project: Project
  /** The folder that gets a folder for each version of the code. */
  readonly root: string
  readonly spec: BundleSpec
  /** The bundle of `spec.runtime`, which this bundle imports. */
  readonly runtime?: Bundle | undefined
  /** Receives the files that the bundle was made from, after each build. */
  onInputs(files: readonly string[]): void
}

/** The folders of a bundle that are kept: processes on old code read their source maps, and code that loads may be this many saves old. */
const FOLDERS_KEPT = 20

/** The file in the folder of a bundle that exports what the bundle is for. */
const MAIN = 'index.mjs'

export function openBundle({ project, root, spec, runtime, onInputs }: Setting) {
  const versions = keepVersions(root, spec, () => runtimeFolder)
  let context: Promise<BuildContext> | undefined
  let inputs: ReadonlySet<string> = new Set()
  let isBroken = false
  let runtimeFolder = ''
  let last: Promise<unknown> = Promise.resolve()

  async function build(): Promise<string> {
    context ??= createContext(project, spec, () => runtimeFolder)
    try {
      if (runtime) runtimeFolder = runtime.folder() ?? (await runtime.build())
      const made = await (await context).rebuild()
      isBroken = false
      inputs = new Set(inputFiles(made.metafile as Metafile, project.folder))
      onInputs([...inputs])
      return versions.keep(made.outputFiles ?? [])
    } catch (cause) {
      isBroken = true
      throw bundleError(cause, spec, project)
    }
  }

  return {
    spec,
    /** The folder with the present code; undefined before the first success, and while the code is broken. */
    folder: () => (isBroken ? undefined : versions.latest()),
    /** The folder of the last success. */
    latest: versions.latest,
    dependsOn: (files: ReadonlySet<string>): boolean =>
      isBroken || runtime?.dependsOn(files) || [...files].some(file => inputs.has(file)),
    /** Bundles, and returns the folder of the code: a new one if the code is new. */
    build: () => {
      const next = last.then(build)
      last = next.catch(() => undefined)
      return next
    },
    dispose: async () => (await context?.catch(() => undefined))?.dispose(),
  }
}

/** Writes each version of a bundle into a folder of its own, and removes old ones. */
function keepVersions(root: string, spec: BundleSpec, runtimeFolder: () => string) {
  const folders: string[] = []
  let digest = ''
  return {
    latest: () => folders.at(-1),
    keep: (files: readonly OutputFile[]): string => {
      const latest = folders.at(-1)
      const fresh = digestOf(files)
      if (latest !== undefined && fresh === digest) return latest
      const folder = join(root, fresh.slice(0, 16))
      writeBundle(folder, files, spec)
      if (spec.runtime)
        writeFileSync(join(folder, 'stand-in.mjs'), standInText(join(runtimeFolder(), MAIN), spec))
      digest = fresh
      // The same code may come back: its folder is then the newest again.
      for (const [index, one] of folders.entries()) if (one === folder) folders.splice(index, 1)
      folders.push(folder)
      for (const old of folders.splice(0, Math.max(0, folders.length - FOLDERS_KEPT)))
        rmSync(old, { recursive: true, force: true })
      return folder
    },
  }
}

/** `runtimeFolder` returns the folder of the executor at each build. */
async function createContext(project: Project, spec: BundleSpec, runtimeFolder: () => string) {
  const { context } = esbuildOf(project)
  const { entry, options, nodeModules, runtime } = spec
  const external = [...((options.external as readonly string[] | undefined) ?? []), ...nodeModules]
  const settings: BuildOptions = {
    ...options,
    entryPoints: [entry],
    absWorkingDir: project.folder,
    outfile: join(project.generated, MAIN),
    // The bundle is written deeper than `outfile` says. Stack traces still show the files of the project.
    sourceRoot: pathToFileURL(join(project.generated, '/')).href,
    external,
    // Code that is not minified is written faster, and debuggers show it.
    minify: false,
    write: false,
    metafile: true,
    logLevel: 'silent',
    plugins: runtime === undefined ? [] : [importing(runtime, runtimeFolder)],
  }
  return thriftily(() => context(settings))
}

/** Leaves the executor outside of a bundle, which imports the executor's own bundle. */
function importing(runtime: string, folder: () => string): Plugin {
  return {
    name: 'executor',
    setup: build => {
      const filter = new RegExp(`/${basename(runtime).replaceAll('.', '\\.')}$`)
      build.onResolve({ filter }, ({ path, resolveDir }) =>
        resolve(resolveDir, path) === runtime
          ? { path: pathToFileURL(join(folder(), MAIN)).href, external: true }
          : undefined,
      )
    },
  }
}

function esbuildOf({ folder }: Project): typeof import('esbuild') {
  const found = findEsbuild(folder, import.meta.url)
  if (found) return found
  throw new BatonError('misconfigured', 'handlers are bundled with esbuild: npm install --save-dev esbuild')
}

/** The share of its live memory by which esbuild's process, which is written in Go, may grow before it frees what it no longer needs. */
const ESBUILD_GROWTH_PERCENT = '10'

/** Calls esbuild so that its process keeps little memory. The first call starts the process, with the environment of that moment. */
function thriftily<Result>(work: () => Result): Result {
  const { GOGC } = process.env
  process.env.GOGC = GOGC ?? ESBUILD_GROWTH_PERCENT
  try {
    return work()
  } finally {
    if (GOGC === undefined) delete process.env.GOGC
  }
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

/** Code that runs in place of code that does not load: it fails each run of these types, and says why. */
function standInText(executor: string, { types }: BundleSpec): string {
  return `import { executorOf } from ${JSON.stringify(pathToFileURL(executor).href)}
export const standIn = cause => {
  const why = cause instanceof Error ? \`\${cause.name}: \${cause.message}\` : String(cause)
  const error = new Error(\`the code of the handler does not load (\${why}); mend it and save the file\`)
  error.stack = cause?.stack
  const run = () => { throw error }
  return executorOf(...${JSON.stringify(types)}.map(type => ({ type, run })))
}
`
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
