import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, expect, it } from 'vitest'
import { type Bundles, createBundles, type Rebuilt } from '../../../../cli/dev/bundles/bundles.ts'
import type { BundleSpec } from '../../../../infra/bundling/esbuild.ts'
import { aFolder, writeFiles } from '../../../support/a-folder.ts'

const opened: Bundles[] = []
afterEach(async () => {
  for (const bundles of opened.splice(0)) await bundles.stop()
})

/** A project with two handlers that share a file, and its bundles. */
function aProject(files: Readonly<Record<string, string>> = {}) {
  const folder = aFolder({
    'package.json': '{}',
    'shared.ts': 'export const unit: string = "kg"',
    'a.ts': 'import { unit } from "./shared.ts"; export const handler = () => "a " + unit',
    'b.ts': 'import { unit } from "./shared.ts"; export const handler = () => "b " + unit',
    ...files,
  })
  const write = (name: string, text: string) => {
    writeFiles(folder, { [name]: text })
    return new Set([join(folder, name)])
  }
  const inputs = new Set<string>()
  const project = { folder, app: 'true', context: {}, generated: join(folder, '.baton') }
  const bundles = createBundles(project, files => {
    for (const file of files) inputs.add(file)
  })
  opened.push(bundles)
  const spec = (name: string, more: Partial<BundleSpec> = {}): BundleSpec => ({
    types: [name],
    entry: join(folder, `${name}.ts`),
    options: { bundle: true, format: 'esm', platform: 'node' },
    nodeModules: [],
    root: folder,
    ...more,
  })
  return { folder, bundles, inputs, write, spec }
}

/** The folder of a bundle that was made again with new code. */
function newFolder(rebuilt: Rebuilt | undefined): string {
  const outcome = rebuilt?.outcome
  if (outcome && 'folder' in outcome) return outcome.folder
  throw new Error(`no new code: ${JSON.stringify(rebuilt)}`)
}

async function answerOf(folder: string): Promise<unknown> {
  const { handler } = (await import(pathToFileURL(join(folder, 'index.mjs')).href)) as { handler(): unknown }
  return handler()
}

it('a changed file reaches the bundles that contain it, each in a new folder', async () => {
  const { bundles, write, spec } = aProject()
  const first = await bundles.folderOf('Stack/A', spec('a'))
  await bundles.folderOf('Stack/B', spec('b'))

  const [rebuilt, ...others] = await bundles.rebuild(write('a.ts', 'export const handler = () => "new"'))

  expect(others).toEqual([])
  expect(rebuilt).toMatchObject({ key: 'Stack/A', types: ['a'] })
  const folder = newFolder(rebuilt)
  expect([await answerOf(first), await answerOf(folder)]).toEqual(['a kg', 'new'])
  expect(await bundles.folderOf('Stack/A', spec('a'))).toBe(folder)
})

it('stack traces name the files of the project', async () => {
  const { bundles, spec, folder } = aProject({
    'a.ts': 'export const handler = () => {\n  throw new Error("here")\n}',
  })
  const options = { bundle: true, format: 'esm', platform: 'node', sourcemap: true }
  const code = await bundles.folderOf('Stack/A', spec('a', { options }))

  const call = `import { handler } from ${JSON.stringify(join(code, 'index.mjs'))}; handler()`
  const args = ['--enable-source-maps', '--input-type=module', '--eval', call]
  const { stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })

  expect(stderr).toContain(`${join(folder, 'a.ts')}:2:`)
})

it('a shared file reaches all of them; a file of none reaches none', async () => {
  const { bundles, write, spec } = aProject()
  await bundles.folderOf('A', spec('a'))
  await bundles.folderOf('B', spec('b'))

  const byShared = await bundles.rebuild(write('shared.ts', 'export const unit = "lb"'))
  const byOther = await bundles.rebuild(write('other.ts', 'export {}'))

  expect(byShared.map(({ key }) => key)).toEqual(['A', 'B'])
  expect(byOther).toEqual([])
})

it('the files of a bundle are reported when it is first made, so that they are watched from then on', async () => {
  const { bundles, inputs, spec, folder } = aProject()
  expect([...inputs]).toEqual([])

  await bundles.folderOf('A', spec('a'))

  expect([...inputs].sort()).toEqual([join(folder, 'a.ts'), join(folder, 'shared.ts')])
})

it('a change that changes no code replaces nothing', async () => {
  const { bundles, write, spec } = aProject()
  await bundles.folderOf('A', spec('a'))

  const rebuilt = await bundles.rebuild(
    write('shared.ts', 'export const unit: string  =  "kg"  // a comment'),
  )

  expect(rebuilt).toEqual([{ key: 'A', types: ['a'], outcome: undefined }])
})

it('broken code is named by file, line and column, and the next good save recovers', async () => {
  const { bundles, write, spec } = aProject()
  await bundles.folderOf('A', spec('a'))

  const [broken] = await bundles.rebuild(write('shared.ts', 'export const unit =\n  = 3'))
  const [mended] = await bundles.rebuild(write('shared.ts', 'export const unit = "g"'))

  const problem = 'a cannot be bundled: shared.ts:2:3: Unexpected "="'
  expect(broken?.outcome).toEqual({ problem, hasEarlier: true })
  expect(await answerOf(newFolder(mended))).toBe('a g')
})

it('code that could not be written is written by the next save', async () => {
  const { folder, bundles, write, spec } = aProject()
  await bundles.folderOf('A', spec('a'))
  const place = join(folder, '.baton/dev/A')
  rmSync(place, { recursive: true })
  writeFileSync(place, 'no folder')

  const [failed] = await bundles.rebuild(write('a.ts', 'export const handler = () => "new"'))
  rmSync(place)
  const [written] = await bundles.rebuild(write('a.ts', 'export const handler = () => "new"'))

  expect(failed?.outcome).toHaveProperty('problem')
  expect(await answerOf(newFolder(written))).toBe('new')
})

it('code that is broken at its first message is bundled after any change', async () => {
  const { bundles, write, spec } = aProject({ 'a.ts': 'export const handler = (' })
  await expect(bundles.folderOf('A', spec('a'))).rejects.toThrow(
    'a cannot be bundled: a.ts:1:25: Unexpected end of file',
  )

  const [mended] = await bundles.rebuild(write('a.ts', 'export const handler = () => 1'))

  expect(await answerOf(newFolder(mended))).toBe(1)
})

it('a package outside of the bundle is found where the handler that imports it finds it', async () => {
  const { bundles, spec, folder } = aProject({
    'packages/jobs/node_modules/native/package.json': '{"name": "native", "main": "./index.js"}',
    'packages/jobs/node_modules/native/index.js': 'exports.name = "the host\'s build"',
    'packages/jobs/c.ts': 'import { name } from "native"; export const handler = () => name',
  })
  const entry = join(folder, 'packages/jobs/c.ts')

  const made = await bundles.folderOf(
    'C',
    spec('c', { entry, nodeModules: ['native'], root: dirname(entry) }),
  )

  expect(await answerOf(made)).toBe("the host's build")
})

it('another description of a bundle makes it again', async () => {
  const { bundles, spec } = aProject({
    'd.ts': 'declare const WHO: string\nexport const handler = () => WHO',
  })
  const of = (who: string) =>
    spec('d', { options: { ...spec('d').options, define: { WHO: JSON.stringify(who) } } })

  const one = await bundles.folderOf('D', of('one'))
  const two = await bundles.folderOf('D', of('two'))

  expect([await answerOf(one), await answerOf(two)]).toEqual(['one', 'two'])
})

it('old code is kept for the processes that run it, but not for ever', async () => {
  const { bundles, write, spec } = aProject()
  const folders = [await bundles.folderOf('A', spec('a'))]
  for (let nth = 0; nth < 20; nth++) {
    const [rebuilt] = await bundles.rebuild(write('a.ts', `export const handler = () => ${nth}`))
    folders.push(newFolder(rebuilt))
  }

  expect(folders.map(folder => existsSync(folder))).toEqual([false, ...Array(20).fill(true)])
})

it('handlers import the executor from a bundle that they share, and follow its changes', async () => {
  const { bundles, inputs, write, spec, folder } = aProject({
    'executor.ts': 'export const executorOf = (answer: string) => () => answer + ", executed"',
    'a.ts': 'import { executorOf } from "./executor.ts"; export const handler = executorOf("a")',
    'b.ts': 'import { executorOf } from "./executor.ts"; export const handler = executorOf("b")',
  })
  const runtime = join(folder, 'executor.ts')
  const a = await bundles.folderOf('A', spec('a', { runtime }))
  const b = await bundles.folderOf('B', spec('b', { runtime }))

  expect([await answerOf(a), await answerOf(b)]).toEqual(['a, executed', 'b, executed'])
  expect(readFileSync(join(a, 'index.mjs'), 'utf8')).not.toContain('executed')
  expect(readdirSync(join(folder, '.baton/dev/executor'))).toHaveLength(1)
  expect([...inputs]).toContain(runtime)

  const rebuilt = await bundles.rebuild(
    write('executor.ts', 'export const executorOf = (answer: string) => () => answer + " again"'),
  )

  expect(rebuilt.map(({ key }) => key)).toEqual(['A', 'B'])
  expect(await answerOf(newFolder(rebuilt[1]))).toBe('b again')
})

it('a broken executor is named by its place, and the next good save recovers', async () => {
  const { bundles, write, spec, folder } = aProject({
    'executor.ts': 'export const answer = 1',
    'a.ts': 'import { answer } from "./executor.ts"; export const handler = () => answer',
  })
  await bundles.folderOf('A', spec('a', { runtime: join(folder, 'executor.ts') }))

  const [broken] = await bundles.rebuild(write('executor.ts', 'export const answer = ='))
  const [mended] = await bundles.rebuild(write('executor.ts', 'export const answer = 2'))

  expect(broken?.outcome).toHaveProperty(
    'problem',
    expect.stringContaining('executor.ts:1:23: Unexpected "="'),
  )
  expect(await answerOf(newFolder(mended))).toBe(2)
})
