import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { HANDLER_CONDITION } from '../../infra/bundling/options.ts'
import { compiled, folderOf, type Package, ROOT } from './packages.ts'

/** Writes the package.json of a package. Version, licence and the versions of dependencies are those of the repository. */
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
  const { name, description, exports, bin, main, dependencies, peers, sameVersion, optional } = one
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
        types: `./${compiled(source, '.d.ts')}`,
        ...conditionsOf(one, path),
        default: `./${compiled(source, '.js')}`,
      })),
      './package.json': './package.json',
    },
    ...(main && { baton: { main: compiled(main, '.js') } }),
    bin: mapValues(bin, source => compiled(source, '.js')),
    dependencies: Object.fromEntries(dependencies.map(name => [name, `^${versions[name]}`])),
    optionalDependencies: optional,
    peerDependencies: { ...peers, ...Object.fromEntries(sameVersion.map(name => [name, root.version])) },
    peerDependenciesMeta: mapValues(peers, () => ({ optional: true })),
  })
}

/** Where a path leads under a condition of its own. */
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

/** The oldest Node in which `require` loads ES modules, as users' CommonJS projects need. */
const NODE = '>=20.19'

function mapValues<Value, Made>(
  values: Readonly<Record<string, Value>>,
  make: (value: Value, key: string) => Made,
): Record<string, Made> {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, make(value, key)]))
}
