import { randomUUID } from 'node:crypto'
import { rmSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { type Bundle, bundle } from './esbuild.ts'
import { writeGenerated } from './generated-file.ts'
import { refuseNative } from './native.ts'
import { type BundlingProps, optionsOf } from './options.ts'
import { nearest } from './packages.ts'

type Loaded = { readonly exports: Record<string, unknown>; readonly stamps: ReadonlyMap<string, string> }

/** What this process has loaded. An app often names one file in several constructs. */
const loaded = new Map<string, Loaded>()

/**
 * Loads a file and returns its exports. The file is bundled like a handler first, so whatever a handler's bundle can contain can
 * be loaded: path aliases, enums, imports without an extension, JSX, JSON. Node alone would refuse them. Packages that stay
 * outside of a handler's bundle are loaded from the file's own project. Loading is synchronous, because constructs are built synchronously.
 *
 * @throws BatonError `invalid` when esbuild refuses the file, or for a native package in the bundle; what the file itself throws; Node's error
 * `ERR_REQUIRE_ASYNC_MODULE` when the file, or one that it imports, awaits at its top level.
 */
export function loadExports(file: string, title: string, props: BundlingProps = {}): Record<string, unknown> {
  const key = JSON.stringify([file, props])
  const known = loaded.get(key)
  if (known && isCurrent(known)) return known.exports
  const made = bundle(title, {
    ...optionsOf(props),
    minify: false,
    sourcemap: false,
    entryPoints: [file],
    outfile: join(packageFolderOf(file), 'loaded.mjs'),
  })
  if (!props.loader?.['.node']) refuseNative(title, made.inputs)
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

/** The folder of the package that a file belongs to. */
function packageFolderOf(file: string): string {
  return nearest(dirname(file), ['package.json']) ?? dirname(file)
}
