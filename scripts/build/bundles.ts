import { readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { decode, encode, type SourceMapMappings, type SourceMapSegment } from '@jridgewell/sourcemap-codec'
import { type BuildOptions, build, type Plugin } from 'esbuild'
import { BUNDLE_OPTIONS, FILES_BESIDE, LIBRARY_BANNER, SYSTEM_OPTIONS } from '../../infra/bundling/esbuild.ts'
import { type Bundle, bundlesOf, folderOf, type Package, ROOT } from './packages.ts'

/** Bundles what runs as a function, in a container or as a worker, each into one file with its libraries inside. */
export async function buildBundles(one: Package) {
  const all: Array<Awaited<ReturnType<typeof bundled>>> = []
  for (const bundle of bundlesOf(one)) all.push(await bundled(bundle, folderOf(one)))
  return { inputs: all.flatMap(({ inputs }) => inputs), outputs: all.flatMap(({ outputs }) => outputs) }
}

/** The paths of the files in a bundle, relative to the repository, and of the files that were written, relative to the package. */
async function bundled({ source, path, runsIn }: Bundle, folder: string) {
  const options = OPTIONS[runsIn]
  const { metafile } = await build({
    ...options,
    absWorkingDir: ROOT,
    entryPoints: [source],
    ...(options.splitting ? inParts(join(folder, path)) : { outfile: join(folder, path) }),
    legalComments: 'none',
    metafile: true,
  })
  if (options.sourcemap) keepOwnSources(join(folder, `${path}.map`))
  if (runsIn === 'lambda') copyFilesBeside(basename(source, '.ts'), dirname(join(folder, path)))
  const inputs = Object.values(metafile.outputs)
    .flatMap(one => Object.entries(one.inputs))
    .filter(([, { bytesInOutput }]) => bytesInOutput > 0)
    .map(([input]) => input)
  return { inputs, outputs: Object.keys(metafile.outputs).map(file => relative(folder, join(ROOT, file))) }
}

/** Writes a file, and its parts next to it. */
function inParts(file: string): BuildOptions {
  return { outdir: dirname(file), entryNames: basename(file, '.js') }
}

/** Copies JSON files without their white space, which is nearly half of the OpenAPI document. */
function copyFilesBeside(name: string, folder: string): void {
  for (const file of FILES_BESIDE[name] ?? []) {
    const value: unknown = JSON.parse(readFileSync(join(ROOT, 'functions', file), 'utf8'))
    writeFileSync(join(folder, basename(file)), JSON.stringify(value))
  }
}

/** In browsers and in handlers a definition is not checked: see the files that take the place of the rules. */
const unchecked: Plugin = {
  name: 'unchecked',
  setup: ({ onResolve }) => {
    const replace = (filter: RegExp, file: string) =>
      onResolve({ filter }, () => ({ path: join(ROOT, file) }))
    replace(/\/type-configuration\.ts$/, 'shared/core/rules/unchecked.ts')
    replace(/\/refuse-flow\.ts$/, 'shared/define/flow/unchecked-flow.ts')
  },
}

/**
 * The definitions and the client for a browser. Its bundler takes what it uses, and makes the code small. What few pages call is in files
 * of its own, which a browser loads at the first call.
 */
export const IN_BROWSERS: BuildOptions = {
  bundle: true,
  splitting: true,
  chunkNames: 'browser-[hash]',
  platform: 'browser',
  format: 'esm',
  target: 'es2022',
  plugins: [unchecked],
}

/** The definitions and the client in the bundle of a handler, which takes what the handler uses, and makes the code small. */
export const IN_HANDLERS: BuildOptions = {
  ...IN_BROWSERS,
  chunkNames: 'handler-[hash]',
  platform: 'neutral',
  target: BUNDLE_OPTIONS.target,
}

/**
 * Leaves out what no function calls. The OpenAPI document is made beforehand, so nothing writes JSON Schema: the schema library's code for
 * it takes 18 KB. The SDK's own SHA-256 takes 3 KB, and is used only where Node has none.
 * Of the manifest of a client, which takes 2 KB, the SDK reads the version.
 */
const withoutUnused: Plugin = {
  name: 'without-unused',
  setup: ({ onLoad }) => {
    const jsonSchema = /[/\\]zod[/\\]v4[/\\]core[/\\](json-schema-processors|to-json-schema)\.js$/
    onLoad({ filter: jsonSchema }, () => ({ contents: 'module.exports = {}' }))
    const sha256 = /[/\\]checksum[/\\]sha256[/\\]Sha256Js\.js$/
    onLoad({ filter: sha256 }, () => ({ contents: 'export class Sha256Js {}' }))
    const manifest = /[/\\]@aws-sdk[/\\]client-[\w-]+[/\\]package\.json$/
    onLoad({ filter: manifest }, ({ path }) => {
      const { version } = JSON.parse(readFileSync(path, 'utf8'))
      return { contents: JSON.stringify({ version }), loader: 'json' }
    })
  },
}

/**
 * Of the errors of these services the command line reads the names, which the SDK keeps without classes. The classes take 90 KB. The table
 * of errors in a client refers to all of them.
 */
const withoutErrorClasses: Plugin = {
  name: 'without-error-classes',
  setup: ({ onLoad }) => {
    const schemas =
      /[/\\]client-(cloudformation|cloudwatch|lambda|ssm|sts)[/\\]dist-es[/\\]schemas[/\\]schemas_0\.js$/
    onLoad({ filter: schemas }, ({ path }) => ({
      contents: readFileSync(path, 'utf8').replace(/^\w+_registry\.registerError\(.*$/gm, ''),
    }))
  },
}

const LIBRARY: BuildOptions = {
  ...BUNDLE_OPTIONS,
  banner: LIBRARY_BANNER,
  target: 'node20',
  sourcemap: false,
  plugins: [withoutUnused, withoutErrorClasses],
}

const OPTIONS: Readonly<Record<Bundle['runsIn'], BuildOptions>> = {
  lambda: { ...SYSTEM_OPTIONS, plugins: [withoutUnused] },
  process: BUNDLE_OPTIONS,
  library: LIBRARY,
  commonjs: {
    ...LIBRARY,
    format: 'cjs',
    banner: {
      js: "const batonUrl=typeof __filename==='string'?require('node:url').pathToFileURL(__filename).href:undefined;",
    },
    define: { 'import.meta.url': 'batonUrl' },
    external: ['zod'],
  },
  browser: IN_BROWSERS,
  handler: IN_HANDLERS,
}

type SourceMap = { readonly sources: readonly string[]; readonly mappings: string }

/**
 * Leaves the sources of libraries out of a source map, and the names of the machine's folders. About half of a map was about
 * them. A frame of a stack trace in a library then names the place in the bundle.
 */
function keepOwnSources(file: string): void {
  const map: SourceMap = JSON.parse(readFileSync(file, 'utf8'))
  const own = map.sources.filter(isOwn)
  const newIndex = map.sources.map(source => own.indexOf(source))
  const mappings = decode(map.mappings).map(line => withoutRepeats(line.map(one => moved(one, newIndex))))
  const sources = own.map(source => source.replace(/^(\.\.\/)+/, ''))
  // No segment names anything any more.
  const short = { ...map, sources, names: [], mappings: encode(mappings) }
  writeFileSync(file, JSON.stringify(short))
}

function isOwn(source: string): boolean {
  return !source.includes('node_modules/')
}

/** A segment without a source ends the mapping of the segment before it. */
function moved(segment: SourceMapSegment, newIndex: readonly number[]): SourceMapSegment {
  const [column, source, line, sourceColumn] = segment
  const index = source === undefined ? -1 : (newIndex[source] ?? -1)
  if (index < 0 || line === undefined || sourceColumn === undefined) return [column]
  return [column, index, line, sourceColumn]
}

function withoutRepeats(line: SourceMapSegment[]): SourceMapMappings[number] {
  return line.filter((segment, index) => segment.length > 1 || line[index - 1]?.length !== 1)
}
