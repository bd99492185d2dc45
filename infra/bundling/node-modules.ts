import { cpSync } from 'node:fs'
import { basename, join } from 'node:path'
import { illegal } from '../../shared/core/values/values.ts'
import { type Cpu, fitsTarget, isNamedForTarget, isNative, platformOf, platformPackagesOf } from './native.ts'
import { dependenciesOf, fetchPackage, filesOf, findPackage, type InstalledPackage } from './places.ts'

/**
 * What the folder `node_modules` of an asset will hold. It is copied from what the project has installed, whichever package manager
 * did so: these are the locked versions. Only builds for another platform than this machine's are missing there, and are fetched.
 */

export type PlannedModule = {
  readonly package: InstalledPackage
  /** Its folder in the asset, such as `node_modules/sharp`. */
  readonly path: string
}

export type ModulesSpec = {
  /** What the modules are for, in errors. */
  readonly title: string
  readonly names: readonly string[]
  /** The folder from whose code the names are found. */
  readonly from: string
  readonly cpu: Cpu
}

type Need = { readonly name: string; readonly range: string; readonly by: PlannedModule }

/**
 * Plans the packages, and all that they need, for Linux on `cpu`. Of two versions of a package, the second lies in the folder of the
 * package that needs it.
 *
 * @throws BatonError `invalid` for a package that is not installed, that has no build for the platform, or that cannot be fetched.
 */
export function planModules(spec: ModulesSpec): PlannedModule[] {
  const planned = new Map<string, PlannedModule>()
  const open = spec.names.map(name => place(planned, '', installed(spec, name)))
  for (let next = open.shift(); next !== undefined; next = open.shift()) {
    if (!next.isNew) continue
    const { module } = next
    refuseWithoutBuild(spec, module)
    open.push(...neededBy(spec, module).map(one => place(planned, module.path, one)))
  }
  return [...planned.values()].sort((a, b) => (a.path < b.path ? -1 : 1))
}

/** Copies a module without the machine code for other platforms. */
export function copyModule(
  folder: string,
  { package: { folder: from }, path }: PlannedModule,
  cpu: Cpu,
): void {
  const isWanted = (file: string) =>
    (file === from || basename(file) !== 'node_modules') &&
    (!file.endsWith('.node') || platformOf(file) === `linux-${cpu}`)
  cpSync(from, join(folder, path), { recursive: true, dereference: true, filter: isWanted })
}

function installed({ title, names, from }: ModulesSpec, name: string): InstalledPackage {
  const found = findPackage(name, from)
  if (found) return found
  throw illegal(
    `${title}: bundling.nodeModules.${names.indexOf(name)} is '${name}', which is not installed in a folder node_modules ` +
      `above ${from}; install it${
        findPackage('.', from) ? '' : " (with Yarn's Plug'n'Play, set nodeLinker: node-modules)"
      }`,
  )
}

/** Finds a folder for a package: the one where code at `parent` finds it already, else the top, else below `parent`. */
function place(
  planned: Map<string, PlannedModule>,
  parent: string,
  one: InstalledPackage,
): { readonly module: PlannedModule; readonly isNew: boolean } {
  for (let at = parent; ; at = enclosing(at)) {
    const other = planned.get(join(at, 'node_modules', one.name))
    if (other && isSame(other.package, one)) return { module: other, isNew: false }
    if (other) return added(planned, join(parent, 'node_modules', one.name), one)
    if (at === '') return added(planned, join('node_modules', one.name), one)
  }
}

/** The folder of the package in which a package lies, or an empty text. */
function enclosing(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf('/node_modules/')))
}

function added(planned: Map<string, PlannedModule>, path: string, one: InstalledPackage) {
  const module = { package: one, path }
  planned.set(path, module)
  return { module, isNew: true }
}

function isSame(a: InstalledPackage, b: InstalledPackage): boolean {
  return a.name === b.name && a.manifest.version === b.manifest.version
}

function neededBy(spec: ModulesSpec, module: PlannedModule): InstalledPackage[] {
  const { dependencies = {}, optionalDependencies = {} } = module.package.manifest
  const needs = (of: Readonly<Record<string, string>>): Need[] =>
    Object.entries(of).map(([name, range]) => ({ name, range, by: module }))
  // npm lists an optional dependency among the dependencies, too.
  const required = needs(dependencies).filter(({ name }) => !Object.hasOwn(optionalDependencies, name))
  return [
    ...required.map(need => requiredPackage(spec, need)),
    ...needs(optionalDependencies).flatMap(need => optionalPackage(spec, need) ?? []),
    ...wantedPeers(spec, module.package),
  ]
}

/**
 * The peers that the package finds where it is installed. One that it can do without is often there for another purpose, such as
 * the synthesis, and may be large. So it is copied only if the project itself names it, in its dependencies or in `nodeModules`.
 */
function wantedPeers(spec: ModulesSpec, { manifest, folder }: InstalledPackage): InstalledPackage[] {
  const { peerDependencies = {}, peerDependenciesMeta = {} } = manifest
  const isWanted = (name: string) =>
    !peerDependenciesMeta[name]?.optional ||
    spec.names.includes(name) ||
    dependenciesOf(spec.from).includes(name)
  return Object.keys(peerDependencies)
    .filter(isWanted)
    .flatMap(name => findPackage(name, folder) ?? [])
}

function requiredPackage({ title }: ModulesSpec, { name, by }: Need): InstalledPackage {
  const found = findPackage(name, by.package.folder)
  if (found) return found
  throw illegal(
    `${title}: '${by.package.name}' needs '${name}', which is not installed; install the project's packages`,
  )
}

/** An optional package that the target can use. One that is only for other platforms than this machine's is not installed here. */
function optionalPackage(spec: ModulesSpec, { name, range, by }: Need): InstalledPackage | undefined {
  const found = findPackage(name, by.package.folder)
  const isExact = /^\d+\.\d+\.\d+/.test(range)
  if (found && !(isExact && found.manifest.version !== range)) {
    return fitsTarget(found, spec.cpu) && hasBuild(found, spec.cpu) ? found : undefined
  }
  if (!isNamedForTarget(name, spec.cpu)) return undefined
  const fetched = fetchPackage({
    name,
    version: range,
    from: spec.from,
    title: spec.title,
    by: by.package.name,
  })
  return fitsTarget(fetched, spec.cpu) ? fetched : undefined
}

/** Whether a package can run on the target. A package without machine code can run anywhere. */
function hasBuild(one: InstalledPackage, cpu: Cpu): boolean {
  const platforms = machineCodeIn(one.folder).map(({ platform }) => platform)
  if (platforms.includes(`linux-${cpu}`)) return true
  if (platforms.length === 0 && !isNative(one)) return true
  return platformPackagesOf(one.manifest).some(name => isNamedForTarget(name, cpu))
}

function machineCodeIn(folder: string): Array<{ readonly file: string; readonly platform: string }> {
  return filesOf(folder)
    .filter(file => file.endsWith('.node'))
    .map(file => ({ file, platform: platformOf(join(folder, file)) }))
}

/** Refuses a package whose machine code, in its own folder or in an optional package, is for other platforms only. */
function refuseWithoutBuild({ title, cpu }: ModulesSpec, { package: one }: PlannedModule): void {
  if (hasBuild(one, cpu)) return
  const [first] = machineCodeIn(one.folder)
  const reason = first
    ? `${first.file} is for ${first.platform}`
    : 'it has no machine code where it is installed'
  throw illegal(
    `${title}: the native package '${one.name}' has no build for linux-${cpu}, the function's platform: ${reason}. ` +
      "Set 'architecture' to the architecture of the build, synthesise on a machine of that platform, " +
      'or serve the task with addWorkerService and a dockerfile that installs the package',
  )
}
