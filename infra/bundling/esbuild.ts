import { statSync } from 'node:fs'
import { dirname, relative } from 'node:path'
import type { BuildOptions, Metafile } from 'esbuild'
import { BatonError } from '../../shared/core/errors.ts'
import { findEsbuild, inputFiles, refusalText } from './esbuild-parts.ts'

/** What esbuild makes of an entry. */
export type Bundle = {
  /** The files to write, by their paths below the folder of the bundle. */
  readonly files: ReadonlyArray<{ readonly path: string; readonly contents: Uint8Array }>
  /** The absolute paths of all files that the bundle was made from. */
  readonly inputs: readonly string[]
}

/**
 * Bundles in memory with the project's esbuild, or else the one that is installed beside this package. `title` names the code in
 * errors.
 *
 * @throws BatonError `invalid` when there is no esbuild, or when it refuses the code. The message has file, line and column.
 */
export function bundle(title: string, options: BuildOptions): Bundle {
  const key = JSON.stringify(options)
  const known = made.get(key)
  if (known && isUnchanged(known.stamps)) return known.bundle
  const result = bundleAnew(title, options)
  made.set(key, { bundle: result, stamps: stampsOf(result.inputs) })
  return result
}

/** What this process has bundled. The stages of an app often contain the same functions. */
const made = new Map<string, { readonly bundle: Bundle; readonly stamps: Stamps }>()

function bundleAnew(title: string, options: BuildOptions): Bundle {
  const { outputFiles, metafile } = build(title, options)
  const folder = dirname(options.outfile ?? '')
  const files = outputFiles.map(({ path, contents }) => ({ path: relative(folder, path), contents }))
  return { files, inputs: inputFiles(metafile, process.cwd()) }
}

type Result = {
  readonly outputFiles: ReadonlyArray<{ readonly path: string; readonly contents: Uint8Array }>
  readonly metafile: Metafile
}

function build(title: string, options: BuildOptions): Result {
  const { buildSync } = esbuild()
  try {
    // Machine code is among the inputs then, where `native.ts` refuses it by the name of its package.
    const loader = { '.node': 'empty' as const, ...options.loader }
    return buildSync({ ...options, loader, write: false, metafile: true })
  } catch (cause) {
    const refusal = refusalText(cause, process.cwd())
    if (refusal === undefined) throw cause
    throw new BatonError('invalid', `${title} cannot be bundled: ${refusal}`, { cause })
  }
}

let found: typeof import('esbuild') | undefined

function esbuild(): typeof import('esbuild') {
  found ??= findEsbuild(process.cwd(), import.meta.url)
  if (found) return found
  throw new BatonError(
    'invalid',
    'handlers are bundled with esbuild, which is not installed; add it: npm install --save-dev esbuild',
  )
}

/** The times and sizes of files, by their paths. They tell whether a result that was made from the files is still true. */
type Stamps = ReadonlyMap<string, string>

function stampsOf(paths: readonly string[]): Stamps {
  return new Map(paths.map(path => [path, stampOf(path)]))
}

function isUnchanged(stamps: Stamps): boolean {
  return [...stamps].every(([path, stamp]) => stampOf(path) === stamp)
}

function stampOf(path: string): string {
  const { mtimeMs, size } = statSync(path, { throwIfNoEntry: false }) ?? { mtimeMs: 0, size: -1 }
  return `${mtimeMs} ${size}`
}
