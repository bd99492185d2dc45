import { spawnSync } from 'node:child_process'
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { compiled, folderOf, type Package, ROOT, sourcesOf } from './packages.ts'
import { writeTypesOfApi } from './written-types.ts'

/**
 * Compiles what users import, and all that it imports, into the package's folder. The layout is the same as in the repository.
 *
 * @throws Error with the compiler's messages
 */
export function compile(one: Package): void {
  const folder = folderOf(one)
  mkdirSync(folder, { recursive: true })
  const project = join(folder, 'tsconfig.json')
  writeFileSync(project, JSON.stringify(projectOf(one)))
  const compiler = join(ROOT, 'node_modules/typescript/bin/tsc')
  const { status, stdout } = spawnSync(process.execPath, [compiler, '--project', project], {
    encoding: 'utf8',
  })
  rmSync(project)
  if (status !== 0) throw new Error(`${one.name} does not compile:\n${stdout}`)
  for (const file of globSync('**/*.d.ts', { cwd: folder })) nameCompiledFiles(join(folder, file))
  if (Object.values(one.exports).includes('shared/index.ts')) writeTypesOfApi(ROOT, folder)
}

function projectOf(one: Package) {
  return {
    extends: join(ROOT, 'tsconfig.build.json'),
    compilerOptions: { outDir: '.' },
    files: sourcesOf(one).map(source => join(ROOT, source)),
  }
}

/** The extension of each imported file of the package, at the end of its path. */
const IMPORTED_EXTENSION = /(?<=^(?! *\*).*(?:\bfrom |\bimport\()['"]\.[^'"]*)\.[jt]s(?=['"])/gm

/** The compiler leaves the extension of a source in declarations. Not every tool finds the compiled file by it. */
function nameCompiledFiles(declaration: string): void {
  const text = readFileSync(declaration, 'utf8')
  writeFileSync(declaration, text.replaceAll(IMPORTED_EXTENSION, '.js'))
}

/**
 * Removes the compiled files that no entry reaches, but none of `written`, the files of the bundles. A bundle's source is compiled for its
 * types only, so its imports remain. Refuses a package that imports what it does not declare: it would work here, but not at its users'.
 *
 * @throws Error that names the file and the package
 */
export function prune(one: Package, written: readonly string[]): void {
  const folder = folderOf(one)
  const bundles = new Set(one.bundles.map(({ path }) => path))
  const code = sourcesOf(one).map(source => compiled(source, '.js'))
  const types = Object.values(one.exports).map(source => compiled(source, '.d.ts'))
  const reached = [
    reachedFrom(code, folder, { types: false, bundles }),
    reachedFrom(types, folder, { types: true, bundles }),
  ]
  const kept = new Set(written)
  for (const file of globSync('{shared,infra,cli,local}/**/*.{js,d.ts}', { cwd: folder })) {
    if (!kept.has(file) && !reached.some(({ files }) => files.has(file))) rmSync(join(folder, file))
  }
  refuseUndeclared(
    one,
    reached.flatMap(({ outside }) => outside),
  )
  writeRequiredTypes(one)
}

/** Writes the types of what `require` loads: a declaration next to a CommonJS file has an extension of its own, and so have its imports. */
function writeRequiredTypes({ commonjs, exports, ...one }: Package): void {
  const folder = folderOf(one)
  const entries = commonjs.map(path => compiled(exports[path] ?? '', '.d.ts'))
  for (const file of reachedFrom(entries, folder, { types: true, bundles: new Set() }).files) {
    const text = readFileSync(join(folder, file), 'utf8')
    const required = text.replaceAll(IMPORTED_EXTENSION, '.cjs')
    writeFileSync(join(folder, file.replace(/\.d\.ts$/, '.d.cts')), required)
  }
}

function refuseUndeclared({ name, dependencies, peers }: Package, imports: readonly OutsideImport[]): void {
  const declared = new Set([...dependencies, ...Object.keys(peers), name])
  const undeclared = imports.filter(one => !declared.has(one.name))
  if (undeclared.length === 0) return
  const texts = undeclared.map(one => `${one.file} imports ${one.name}`)
  throw new Error(`${name} imports packages that it does not declare: ${[...new Set(texts)].join('; ')}`)
}

/** The imports of the compiled files of a package, read from their text: the compiler writes each on a line of its own. */

type OutsideImport = {
  /** Path of the importing file within its package. */
  readonly file: string
  readonly name: string
}

/**
 * The files that `entries` reach by imports, entries included, as paths within the package. For types, imports lead to declarations. The
 * search does not continue from a bundle, because it contains what it imports.
 */
function reachedFrom(
  entries: readonly string[],
  folder: string,
  { types, bundles }: { readonly types: boolean; readonly bundles: ReadonlySet<string> },
) {
  const files = new Set<string>()
  const outside: OutsideImport[] = []
  const waiting = [...entries]
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    if (files.has(file)) continue
    files.add(file)
    const from = file
    const imported = bundles.has(file) ? [] : specifiersIn(readFileSync(resolve(folder, file), 'utf8'))
    const inside = imported.filter(specifier => specifier.startsWith('.'))
    waiting.push(...inside.map(specifier => fileOf(folder, from, specifier, types)))
    const packages = imported.filter(specifier => !/^(?:\.|node:)/.test(specifier))
    outside.push(...packages.map(specifier => ({ file: from, name: packageOf(specifier) })))
  }
  return { files, outside }
}

const STATEMENT = /^(?:import|export)\s(?:[\w\s{},*$]*\bfrom\s)?['"]([^'"]+)['"]/gm
const CALL = /^(?! *\*).*?\bimport\(['"]([^'"]+)['"]\)/gm

function specifiersIn(text: string): string[] {
  return [...text.matchAll(STATEMENT), ...text.matchAll(CALL)].map(([, specifier = '']) => specifier)
}

function fileOf(folder: string, from: string, specifier: string, types: boolean): string {
  const path = resolve(folder, dirname(from), specifier)
  const file = relative(folder, path).split(sep).join('/')
  return types ? file.replace(/\.js$/, '.d.ts') : file
}

function packageOf(specifier: string): string {
  const [scope = '', name = ''] = specifier.split('/')
  return scope.startsWith('@') ? `${scope}/${name}` : scope
}
