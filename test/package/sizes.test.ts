import { relative } from 'node:path'
import { gzipSync } from 'node:zlib'
import { type BuildOptions, build, type Metafile } from 'esbuild'
import { beforeAll, describe, expect, it } from 'vitest'
import { runnableOptionsOf, SYSTEM_OPTIONS } from '../../infra/bundling/esbuild.ts'
import { IN_BROWSERS, IN_HANDLERS } from '../../scripts/build/bundles.ts'
import { aFolder } from '../support/a-folder.ts'

const KB = 1_000

/** Bundles what code imports, and says how large the parts of the bundle are. */
async function bundleOf(contents: string, options: BuildOptions) {
  const { outputFiles, metafile } = await build({
    ...options,
    stdin: { contents, resolveDir: process.cwd() },
    minify: true,
    write: false,
    metafile: true,
    sourcemap: false,
    outdir: 'bundle',
  })
  const loaded = loadedAtOnce(metafile)
  const outputs = Object.entries(metafile.outputs).filter(([path]) => loaded.has(path))
  const sizes = outputs.flatMap(([, { inputs }]) =>
    Object.entries(inputs).map(([path, { bytesInOutput }]) => [path, bytesInOutput] as const),
  )
  const files = (outputFiles ?? []).filter(({ path }) => loaded.has(relative(process.cwd(), path)))
  return {
    bytes: files.reduce((sum, { contents }) => sum + contents.byteLength, 0),
    zippedBytes: files.reduce((sum, { contents }) => sum + gzipSync(contents).byteLength, 0),
    inputs: sizes.filter(([, bytes]) => bytes > 0).map(([path]) => path),
    bytesOf: (part: RegExp) =>
      sizes.filter(([path]) => part.test(path)).reduce((sum, [, bytes]) => sum + bytes, 0),
    outside: Object.values(metafile.outputs)
      .flatMap(({ imports }) => imports)
      .filter(({ external }) => external)
      .map(({ path }) => path),
  }
}

/** The files that load with the entry. A file that is imported by a call loads later. */
function loadedAtOnce({ outputs }: Metafile): ReadonlySet<string> {
  const loaded = new Set(Object.keys(outputs).filter(path => outputs[path]?.entryPoint === '<stdin>'))
  for (const path of loaded) {
    const statements = outputs[path]?.imports.filter(({ kind }) => kind === 'import-statement') ?? []
    for (const one of statements) if (outputs[one.path]) loaded.add(one.path)
  }
  return loaded
}

describe('definitions and the client in a browser', () => {
  const everything =
    "export { defineTask, defineFlow, createClient, chain, group, chord } from './shared/index.ts'"

  it('have at most 8.5 KB, zipped', async () => {
    const { zippedBytes } = await bundleOf(everything, IN_BROWSERS)

    expect(zippedBytes).toBeLessThanOrEqual(8.5 * KB)
  })

  it('contain no code of the AWS SDK, of a schema library or of Node', async () => {
    const { inputs, outside } = await bundleOf("export * from './shared/index.ts'", IN_BROWSERS)

    expect(inputs.filter(path => path.includes('node_modules'))).toEqual([])
    expect(outside).toEqual([])
  })
})

describe('the bundle of a handler of two lines', () => {
  let folder: string
  let definition: string

  beforeAll(async () => {
    folder = aFolder()
    await build({ ...IN_HANDLERS, entryPoints: { index: 'shared/index.ts' }, outdir: folder })
    definition = `
      import { defineTask } from '${folder}/index.js'
      export const hello = defineTask('hello', { run: () => 'hello' })`
  })

  it('has at most 435 KB with the AWS SDK', async () => {
    const executor = await bundleOf("export * from './functions/executor.ts'", SYSTEM_OPTIONS)
    const own = await bundleOf(definition, runnableOptionsOf())

    expect(executor.bytes + own.bytes).toBeLessThanOrEqual(435 * KB)
  })

  it('has a definition of at most 7 KB, which is not checked again', async () => {
    const { bytes } = await bundleOf(definition, runnableOptionsOf())
    const checked = await bundleOf(
      definition.replace(/'.*index.js'/, "'./shared/index.ts'"),
      runnableOptionsOf(),
    )

    expect(bytes).toBeLessThanOrEqual(7 * KB)
    expect(checked.bytes - bytes).toBeGreaterThan(5 * KB)
  })

  it('has an executor of at most 175 KB, which brings no rules of definitions', async () => {
    const { bytesOf } = await bundleOf("export * from './functions/executor.ts'", SYSTEM_OPTIONS)

    expect(bytesOf(/^(shared|functions)\//)).toBeLessThanOrEqual(175 * KB)
    expect(bytesOf(/^shared\/core\/rules\/(type-configuration|options|compound|scalars)\.ts/)).toBe(0)
  })

  it('contains no schema library', async () => {
    for (const contents of ["export * from './functions/executor.ts'", definition]) {
      const { bytesOf } = await bundleOf(contents, runnableOptionsOf())
      expect(bytesOf(/node_modules\/zod/)).toBe(0)
    }
  })
})
