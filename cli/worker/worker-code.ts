/**
 * The code of `baton worker FILE`. Node loads a JavaScript file as it stands. Any other file is bundled first, as a handler is: Node
 * alone refuses TypeScript (Node 20), enums, JSX, path aliases and imports without an extension. Two things differ from a handler:
 *
 * - Installed packages stay outside of the bundle, and Node loads them from where they are. A worker has them at hand, native ones too,
 *   and shares them with the rest of its process.
 * - `import.meta` and `__dirname` name the file of the project that uses them, so code finds what lies beside it.
 */

import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, extname, join, resolve, sep } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { BuildOptions, Loader, OnResolveArgs, OnResolveResult, Plugin, PluginBuild } from 'esbuild'
import { findEsbuild, refusalText } from '../../infra/bundling/esbuild.ts'
import { BatonError } from '../../shared/core/values/values.ts'

/** The extensions that every supported Node loads by itself. */
const JAVASCRIPT: ReadonlySet<string> = new Set(['.js', '.mjs', '.cjs'])

/**
 * Returns the path of a file that Node can load in place of `file`, which is relative to the working directory. A bundle stands in a
 * folder for temporary files until this process ends. Stack traces of this process name the files of the project from now on.
 *
 * @throws BatonError `invalid` when esbuild refuses the code; `misconfigured` when the file needs esbuild and the project has none.
 */
export async function loadableFile(file: string): Promise<string> {
  const entry = resolve(file)
  if (JAVASCRIPT.has(extname(entry)) || !existsSync(entry)) return entry
  const esbuild = findEsbuild(dirname(entry), import.meta.url)
  if (!esbuild) {
    const problem = `${file} is bundled with esbuild, which is not installed: npm install esbuild; or give a compiled .js file`
    throw new BatonError('misconfigured', problem)
  }
  const folder = temporaryFolder()
  const outfile = join(folder, 'index.mjs')
  try {
    await esbuild.build({ ...OPTIONS, entryPoints: [entry], outfile, plugins: [likeNode] })
  } catch (cause) {
    const refusal = refusalText(cause, process.cwd())
    if (refusal === undefined) throw cause
    throw new BatonError('invalid', `${file} cannot be bundled: ${refusal}`, { cause })
  }
  process.setSourceMapsEnabled(true)
  return outfile
}

/** What stands at the head of each file of the project in the bundle, on its first line, so that all lines keep their numbers. */
const PLACE_NAMES = { url: 'batonFileUrl', file: 'batonFile', folder: 'batonFolder' } as const

const OPTIONS: BuildOptions = {
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node20.19',
  mainFields: ['main', 'module'],
  // Without this, packages may give files that are made for bundlers only.
  conditions: [],
  banner: {
    js: "import{createRequire as batonRequire}from'node:module';const require=batonRequire(import.meta.url);",
  },
  define: {
    'import.meta.url': PLACE_NAMES.url,
    'import.meta.filename': PLACE_NAMES.file,
    'import.meta.dirname': PLACE_NAMES.folder,
    __filename: PLACE_NAMES.file,
    __dirname: PLACE_NAMES.folder,
  },
  sourcemap: true,
  sourcesContent: false,
  logLevel: 'silent',
}

function temporaryFolder(): string {
  // esbuild knows files by their real paths, and the source map is relative to this folder.
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'baton-worker-')))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** The files of installed packages. A linked package of a workspace has its real path elsewhere, so it is bundled. */
const INSTALLED = `${sep}node_modules${sep}`

const likeNode: Plugin = {
  name: 'like-node',
  setup: build => {
    build.onResolve({ filter: /^[^./]/ }, args => placeOfInstalled(build, args))
    build.onLoad({ filter: /\.[cm]?[jt]sx?$/ }, ({ path }) => ({
      contents: withPlaces(path),
      loader: loaderOf(path),
    }))
  },
}

/** Marks that this plugin has asked esbuild itself. */
const ASKED = Symbol('asked')

/** Leaves installed packages to Node, at the place where esbuild has found them. What esbuild does not find, it refuses itself. */
async function placeOfInstalled(
  build: PluginBuild,
  args: OnResolveArgs,
): Promise<OnResolveResult | undefined> {
  const { path: name, kind, importer, resolveDir, pluginData } = args
  if (pluginData === ASKED || kind === 'entry-point') return undefined
  const found = await build.resolve(name, { kind, importer, resolveDir, pluginData: ASKED })
  if (found.errors.length > 0 || found.external || !found.path.includes(INSTALLED)) return undefined
  const isRequired = kind === 'require-call' || kind === 'require-resolve'
  return { path: isRequired ? found.path : pathToFileURL(found.path).href, external: true }
}

function withPlaces(path: string): string {
  const text = readFileSync(path, 'utf8')
  const places = { url: pathToFileURL(path).href, file: path, folder: dirname(path) }
  const names = Object.entries(PLACE_NAMES) as Array<[keyof typeof PLACE_NAMES, string]>
  const head = names.map(([key, name]) => `var ${name}=${JSON.stringify(places[key])};`).join('')
  // A first line for the shell is no JavaScript after a statement.
  return head + text.replace(/^#!.*/, '')
}

function loaderOf(path: string): Loader {
  const extension = extname(path).replace(/^\.[cm]/, '.')
  return extension.slice(1) as Loader
}
