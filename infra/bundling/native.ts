import { closeSync, existsSync, openSync, readFileSync, readSync } from 'node:fs'
import { join, relative } from 'node:path'
import { type BatonError, illegal } from '../../shared/core/values/values.ts'
import { filesOf, type InstalledPackage, packageOf } from './places.ts'

/** The processors that Lambda has, as npm names them. */
export type Cpu = 'arm64' | 'x64'

/** The words for a processor in the names of packages that hold a build. */
const CPU_WORDS: Readonly<Record<Cpu, readonly string[]>> = {
  arm64: ['arm64', 'aarch64'],
  x64: ['x64', 'amd64'],
}

/**
 * A native package runs machine code: `.node` files that are compiled when it is installed, that it carries for several platforms
 * (`prebuilds/`), or that come as one optional package per platform (`@img/sharp-linux-arm64`). esbuild cannot bundle such code. What
 * it bundles in its place fails when it is loaded, so a bundle with a native package is refused. Often the path of the file is computed
 * when the code runs, and esbuild does not see it. The package is then known by its files, or by a package that finds such files.
 *
 * @throws BatonError `invalid`, naming the package and where to list it, or the file of the project and what to change.
 */
export function refuseNative(title: string, inputs: readonly string[]): void {
  const file = inputs.find(input => input.endsWith('.node'))
  if (file !== undefined) throw isNativeError(title, packageOf(file)?.name, file)
  const packages = [
    ...new Map(inputs.map(packageOf).flatMap(one => (one ? [[one.folder, one]] : []))).values(),
  ]
  const native = packages.find(isNative)
  if (native) throw isNativeError(title, native.name, native.folder)
  const finder = packages.find(({ name }) => MACHINE_CODE_FINDERS.has(name))
  if (finder) throw loadsMachineCodeError(title, `'${finder.name}'`)
  const loading = inputs.find(input => packageOf(input) === undefined && loadsByComputedPath(input))
  if (loading !== undefined) throw loadsMachineCodeError(title, relative(process.cwd(), loading))
}

/** The packages that find machine code on the disk when they run, for the package that calls them. */
const MACHINE_CODE_FINDERS: ReadonlySet<string> = new Set([
  'bindings',
  'node-gyp-build',
  'node-gyp-build-optional-packages',
  'node-pre-gyp',
  '@mapbox/node-pre-gyp',
  'pkg-prebuilds',
  'node-bindings',
  'node-cmake',
])

/** A call that loads a file whose path is computed, and whose name ends with `.node`. */
const COMPUTED_LOAD = /\b(?:require|dlopen)\s*\((?!\s*['"`][^'"`]*['"`]\s*\))[^;\n]*\.node['"`]/

function loadsByComputedPath(file: string): boolean {
  return /\.[cm]?[jt]sx?$/.test(file) && COMPUTED_LOAD.test(readFileSync(file, 'utf8'))
}

function loadsMachineCodeError(title: string, what: string): BatonError {
  const problem =
    `${what} loads machine code by a path that is computed when the code runs, and a bundle does not contain that file; ` +
    'move the code that loads it, with its .node files, to a package, and add the package to bundling.nodeModules'
  return illegal(`${title}: ${problem}`)
}

function isNativeError(title: string, name: string | undefined, place: string): BatonError {
  const problem =
    name === undefined
      ? `${place} is machine code, which cannot be bundled; move it to a package`
      : `'${name}' is a native package, which cannot be bundled; add '${name}' to bundling.nodeModules, ` +
        'or to bundling.externalModules if the code runs without it'
  return illegal(`${title}: ${problem}`)
}

/** Whether a package has machine code, needs one that finds it, or has an optional package with machine code for each platform. */
export function isNative({ folder, manifest }: InstalledPackage): boolean {
  const signs = ['binding.gyp', 'prebuilds'].some(name => existsSync(join(folder, name)))
  if (signs || manifest.gypfile === true || platformPackagesOf(manifest).length > 0) return true
  const needed = Object.keys(manifest.dependencies ?? {})
  return needed.some(name => MACHINE_CODE_FINDERS.has(name)) || hasMachineCode(folder)
}

/** Whether machine code lies in a package, by its folder. A synthesis often asks again: many handlers contain the same packages. */
const withMachineCode = new Map<string, boolean>()

function hasMachineCode(folder: string): boolean {
  const has = withMachineCode.get(folder) ?? filesOf(folder).some(file => file.endsWith('.node'))
  withMachineCode.set(folder, has)
  return has
}

/** The optional dependencies that hold machine code for one platform, by their names. */
export function platformPackagesOf({ optionalDependencies = {} }: InstalledPackage['manifest']): string[] {
  return Object.keys(optionalDependencies).filter(name => {
    const words = wordsOf(name)
    return (
      words.includes('linux') &&
      Object.values(CPU_WORDS)
        .flat()
        .some(word => words.includes(word))
    )
  })
}

/** Whether the name of a package says that it is the build for Linux, glibc and this processor. */
export function isNamedForTarget(name: string, cpu: Cpu): boolean {
  const words = wordsOf(name)
  return (
    words.includes('linux') && !words.includes('musl') && CPU_WORDS[cpu].some(word => words.includes(word))
  )
}

function wordsOf(name: string): string[] {
  return name.toLowerCase().split(/[^a-z0-9]+/)
}

/** Whether a package may be installed for Linux with glibc on this processor, as its own manifest says. */
export function fitsTarget({ manifest: { os, cpu, libc } }: InstalledPackage, target: Cpu): boolean {
  return admits(os, 'linux') && admits(cpu, target) && admits(libc, 'glibc')
}

function admits(listed: readonly string[] | undefined, value: string): boolean {
  if (!listed || listed.length === 0 || listed.includes('any')) return true
  if (listed.includes(`!${value}`)) return false
  return listed.includes(value) || listed.every(one => one.startsWith('!'))
}

/** The platform that machine code was built for, such as `linux-x64`, as the head of the file says. */
export function platformOf(file: string): string {
  const head = headOf(file)
  const magic = head.toString('hex', 0, 4)
  if (magic === '7f454c46') return `linux-${ELF_MACHINES.get(head.readUInt16LE(18)) ?? 'unknown'}`
  if (MACH_O_MAGICS.includes(magic)) return 'darwin'
  return magic.startsWith('4d5a') ? 'win32' : 'unknown'
}

/** Numbers of processors in an ELF file. Source: ELF specification, e_machine. */
const ELF_MACHINES = new Map([
  [0x3e, 'x64'],
  [0xb7, 'arm64'],
])
const MACH_O_MAGICS = ['cffaedfe', 'feedfacf', 'cafebabe']
const ELF_HEAD_BYTES = 20

function headOf(file: string): Buffer {
  const head = Buffer.alloc(ELF_HEAD_BYTES)
  const descriptor = openSync(file, 'r')
  try {
    readSync(descriptor, head, 0, ELF_HEAD_BYTES, 0)
  } finally {
    closeSync(descriptor)
  }
  return head
}
