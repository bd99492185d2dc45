import { randomUUID } from 'node:crypto'
import { existsSync, rmSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { type Bundle, bundle } from './esbuild.ts'
import { writeGenerated } from './generated-file.ts'
import { BUNDLE_OPTIONS } from './options.ts'

type Loaded = { readonly exports: Record<string, unknown>; readonly stamps: ReadonlyMap<string, string> }

/** What this process has loaded. An app often names one file in several constructs. */
const loaded = new Map<string, Loaded>()

/**
 * Loads a file and returns its exports. The file is bundled like a handler first, so whatever a handler's bundle can contain can
 * be loaded: path aliases, enums, imports without an extension, JSX, JSON. Node alone would refuse them. Packages in `external`
 * are loaded from the file's own project. Loading is synchronous, because constructs are built synchronously.
 *
 * @throws BatonError `invalid` when esbuild refuses the file; what the file itself throws; Node's error
 * `ERR_REQUIRE_ASYNC_MODULE` when the file, or one that it imports, awaits at its top level.
 */
export function loadExports(
  file: string,
  title: string,
  external: readonly string[],
): Record<string, unknown> {
  const key = JSON.stringify([file, external])
  const known = loaded.get(key)
  if (known && isCurrent(known)) return known.exports
  const made = bundle(title, {
    ...BUNDLE_OPTIONS,
    minify: false,
    sourcemap: false,
    entryPoints: [file],
    external: [...external],
    outfile: join(packageFolderOf(file), 'loaded.mjs'),
  })
  const exports = evaluate(file, made)
  loaded.set(key, { exports, stamps: stampsOf(made.inputs) })
  return exports
}

/** The generated file stands in the file's own package while Node loads it, since Node finds `external` packages from there. */
function evaluate(file: string, { files: [code] }: Bundle): Record<string, unknown> {
  const generated = join(packageFolderOf(file), '.baton', 'loading', `${randomUUID()}.mjs`)
  writeGenerated(generated, Buffer.from(code?.contents ?? []).toString())
  try {
    return createRequire(import.meta.url)(generated) as Record<string, unknown>
  } finally {
    rmSync(generated, { force: true })
  }
}

function isCurrent({ stamps }: Loaded): boolean {
  return [...stamps].every(([path, stamp]) => stampOf(path) === stamp)
}

function stampsOf(paths: readonly string[]): Map<string, string> {
  return new Map(paths.map(path => [path, stampOf(path)]))
}

function stampOf(path: string): string {
  const { mtimeMs, size } = statSync(path, { throwIfNoEntry: false }) ?? { mtimeMs: 0, size: -1 }
  return `${mtimeMs} ${size}`
}

/** The nearest folder above a file that has a `package.json`, or else the file's own. Its packages are found from there. */
function packageFolderOf(file: string, folder = dirname(file)): string {
  if (existsSync(join(folder, 'package.json'))) return folder
  return dirname(folder) === folder ? dirname(file) : packageFolderOf(file, dirname(folder))
}
