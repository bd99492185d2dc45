import { closeSync, existsSync, openSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { BatonError } from '../../shared/core/errors.ts'
import { type InstalledPackage, packageOf } from './packages.ts'

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
 * it bundles in its place fails when it is loaded, so a bundle with a native package is refused.
 *
 * @throws BatonError `invalid`, naming the package and where to list it.
 */
export function refuseNative(title: string, inputs: readonly string[]): void {
  const file = inputs.find(input => input.endsWith('.node'))
  if (file !== undefined) throw isNativeError(title, packageOf(file)?.name, file)
  const native = inputs.map(packageOf).find(one => one !== undefined && isNative(one))
  if (native) throw isNativeError(title, native.name, native.folder)
}

function isNativeError(title: string, name: string | undefined, place: string): BatonError {
  const problem =
    name === undefined
      ? `${place} is machine code, which cannot be bundled; move it to a package`
      : `'${name}' is a native package, which cannot be bundled; add '${name}' to bundling.nodeModules, ` +
        'or to bundling.externalModules if the code runs without it'
  return new BatonError('invalid', `${title}: ${problem}`)
}

/** Whether a package has machine code, or an optional package with machine code for each platform. */
export function isNative({ folder, manifest }: InstalledPackage): boolean {
  const signs = ['binding.gyp', 'prebuilds'].some(name => existsSync(join(folder, name)))
  return signs || manifest.gypfile === true || platformPackagesOf(manifest).length > 0
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
