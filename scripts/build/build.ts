import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { HANDLER_CONDITION } from '../../infra/bundling/esbuild.ts'
import { buildBundles } from './bundles.ts'
import { compile, prune } from './compile.ts'
import { buildDashboard } from './dashboard.ts'
import { compiled, folderOf, PACKAGES, type Package, ROOT } from './packages.ts'

/** The oldest Node in which `require` loads ES modules, as users' CommonJS projects need. */
const NODE = '>=20.19'

/**
 * `npm run build`: makes the packages that users install, each a complete folder below `dist/`. `npm run pack -- DIR` also puts
 * their tarballs into DIR.
 *
 * Read in this order:
 * - `packages.ts`: what each package holds;
 * - `compile.ts`: what users import is compiled file by file, with its types, and keeps the layout of the repository. A file that
 *   nothing reaches is removed again, and a package that imports what it does not declare is refused;
 * - `bundles.ts`: what runs as a function, in a container, as a worker or in a browser is one file with its libraries inside;
 * - `dashboard.ts`: the pages of the dashboard, as a browser loads them.
 *
 * This file adds licences and package.json.
 */
const { tarballs } = parseArgs({ options: { tarballs: { type: 'string' } } }).values

for (const one of PACKAGES) await build(one)
if (tarballs !== undefined) packInto(resolve(tarballs))

async function build(one: Package): Promise<void> {
  // The dashboard of the checkout is next to the packages. A running system may serve it.
  rmSync(folderOf(one), { recursive: true, force: true })
  compile(one)
  const { inputs, outputs } = await buildBundles(one)
  writeNotices(one, [...inputs, ...(await dashboardOf(one))])
  for (const path of one.copies)
    cpSync(join(ROOT, path), join(folderOf(one), path), { recursive: true, filter: isCopied })
  if (one.readme !== undefined) cpSync(join(ROOT, one.readme), join(folderOf(one), 'README.md'))
  writeManifest(one)
  prune(one, outputs)
}

/** Pictures stay in the repository: they would add 2 MB to a package. */
function isCopied(source: string): boolean {
  return source !== join(ROOT, 'docs/images')
}

async function dashboardOf(one: Package): Promise<string[]> {
  return one.dashboard === undefined ? [] : buildDashboard(join(folderOf(one), one.dashboard))
}

function packInto(folder: string): void {
  mkdirSync(folder, { recursive: true })
  const command = ['pack', '--loglevel=error', '--pack-destination', folder]
  for (const one of PACKAGES) execFileSync('npm', command, { cwd: folderOf(one), stdio: 'inherit' })
}

/**
 * Writes the licences of all packages that the bundles contain: they allow copies on the condition that their texts go with
 * them. `inputs` are the bundled files. A package without bundles gets no file.
 *
 * @throws Error when a bundled package names no licence
 */
function writeNotices(one: Package, inputs: readonly string[]): void {
  const bundled = [...new Set(inputs.flatMap(packageFolderOf))].sort()
  if (bundled.length === 0) return
  const packagesOf = new Map<string, string[]>()
  for (const folder of bundled) {
    const text = licenceOf(folder)
    packagesOf.set(text, [...(packagesOf.get(text) ?? []), titleOf(folder)])
  }
  const parts = [...packagesOf].map(([text, packages]) => `${[...new Set(packages)].join('\n')}\n\n${text}`)
  writeFileSync(join(folderOf(one), 'THIRD-PARTY-LICENSES.txt'), parts.join(`\n\n${'-'.repeat(78)}\n\n`))
}

/** The folder of the package that a bundled file belongs to; none for a file of this repository. */
function packageFolderOf(input: string): string[] {
  return /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(input)?.slice(0, 1) ?? []
}

/** Some packages only name their licence. Then the name replaces the text. */
function licenceOf(folder: string): string {
  const file = readdirSync(join(ROOT, folder)).find(name => /^licen[cs]e/i.test(name))
  if (file !== undefined)
    return readFileSync(join(ROOT, folder, file), 'utf8')
      .replaceAll('\r\n', '\n')
      .trim()
  const { license } = JSON.parse(readFileSync(join(ROOT, folder, 'package.json'), 'utf8'))
  if (typeof license !== 'string') throw new Error(`the package ${folder} is bundled and names no licence`)
  return `Licence: ${license}`
}

function titleOf(folder: string): string {
  const { name, version } = JSON.parse(readFileSync(join(ROOT, folder, 'package.json'), 'utf8'))
  return `${name} ${version}`
}

/** Writes the package.json of a package. Version, licence and the versions of dependencies come from the repository. */
export function writeManifest(one: Package): void {
  writeFileSync(join(folderOf(one), 'package.json'), `${JSON.stringify(manifestOf(one), null, 2)}\n`)
}

type Root = {
  readonly version: string
  readonly license: string
  readonly dependencies: Readonly<Record<string, string>>
  readonly devDependencies: Readonly<Record<string, string>>
}

function manifestOf(one: Package) {
  const { name, description, exports, bin, main, dependencies, peers, sameVersion } = one
  const root: Root = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const versions = { ...root.devDependencies, ...root.dependencies }
  return withoutEmpty({
    name,
    version: root.version,
    description,
    license: root.license,
    keywords: ['aws', 'lambda', 'dynamodb', 'sqs', 'tasks', 'queue', 'jobs', 'workflow', 'saga'],
    type: 'module',
    engines: { node: NODE },
    sideEffects: false,
    exports: {
      ...mapValues(exports, (source, path) => ({
        ...conditionsOf(one, path),
        ...(one.commonjs.includes(path) && {
          require: { types: `./${compiled(source, '.d.cts')}`, default: `./${compiled(source, '.cjs')}` },
        }),
        types: `./${compiled(source, '.d.ts')}`,
        default: `./${compiled(source, '.js')}`,
      })),
      './package.json': './package.json',
    },
    ...(main && { baton: { main: compiled(main, '.js') } }),
    bin: mapValues(bin, source => compiled(source, '.js')),
    dependencies: Object.fromEntries(dependencies.map(name => [name, `^${versions[name]}`])),
    peerDependencies: { ...peers, ...Object.fromEntries(sameVersion.map(name => [name, root.version])) },
    peerDependenciesMeta: mapValues(peers, () => ({ optional: true })),
  })
}

function conditionsOf({ inBrowsers, inHandlers }: Package, path: string): Record<string, string> {
  const files = { [HANDLER_CONDITION]: inHandlers[path], browser: inBrowsers[path] }
  return Object.fromEntries(
    Object.entries(files).flatMap(([condition, file]) =>
      file === undefined ? [] : [[condition, `./${file}`]],
    ),
  )
}

function withoutEmpty(manifest: object): object {
  const isEmpty = (value: unknown) => typeof value === 'object' && Object.keys(value ?? {}).length === 0
  return Object.fromEntries(Object.entries(manifest).filter(([, value]) => !isEmpty(value)))
}

function mapValues<Value, Made>(
  values: Readonly<Record<string, Value>>,
  make: (value: Value, key: string) => Made,
): Record<string, Made> {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, make(value, key)]))
}
