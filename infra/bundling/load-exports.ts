import { randomUUID } from 'node:crypto'
import { rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { type Bundle, bundle } from './esbuild.ts'
import { writeGenerated } from './generated-file.ts'
import { refuseNative } from './native.ts'
import { type BundlingProps, optionsOf } from './options.ts'
import { nearest } from './packages.ts'

/** What this process has loaded, by the bundle that was loaded. An app often names one file in several constructs. */
const loaded = new WeakMap<Bundle, Record<string, unknown>>()

/**
 * Loads a file and returns its exports. The file is bundled like a handler first, so whatever a handler's bundle can contain can
 * be loaded: path aliases, enums, imports without an extension, JSX, JSON. Node alone would refuse them. Packages that stay
 * outside of a handler's bundle are loaded from the file's own project. Loading is synchronous, because constructs are built synchronously.
 *
 * @throws BatonError `invalid` when esbuild refuses the file, or for a native package in the bundle; what the file itself throws; Node's error
 * `ERR_REQUIRE_ASYNC_MODULE` when the file, or one that it imports, awaits at its top level.
 */
export function loadExports(file: string, title: string, props: BundlingProps = {}): Record<string, unknown> {
  const made = bundle(title, {
    ...optionsOf(props),
    minify: false,
    sourcemap: false,
    entryPoints: [file],
    outfile: join(packageFolderOf(file), 'loaded.mjs'),
  })
  if (!props.loader?.['.node']) refuseNative(title, made.inputs)
  const exports = loaded.get(made) ?? evaluate(file, made)
  loaded.set(made, exports)
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

/** The folder of the package that a file belongs to. */
function packageFolderOf(file: string): string {
  return nearest(dirname(file), ['package.json']) ?? dirname(file)
}
