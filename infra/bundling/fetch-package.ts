import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { BatonError } from '../../shared/core/errors.ts'
import { generatedFile } from './generated-file.ts'
import { type InstalledPackage, lockFileOf, projectRootOf, readPackage } from './packages.ts'

type FetchSpec = {
  readonly name: string
  /** An exact version. */
  readonly version: string
  /** A folder of the project. Its root has the settings of the registry. */
  readonly from: string
  /** What the package is for, and which package needs it, in errors. */
  readonly title: string
  readonly by: string
}

/**
 * Returns a package that is not installed, because it holds the build for another platform. It is fetched once with `npm pack` from
 * the project's registry, whichever package manager the project uses, and kept in `.baton/packages`, so that the next synthesis needs
 * no network. If the lock file has a SHA-512 hash for it, its content must have that hash.
 *
 * @throws BatonError `invalid` when it cannot be fetched, or differs from the lock file.
 */
export function fetchPackage(spec: FetchSpec): InstalledPackage {
  const { name, version } = spec
  refuseInexact(spec)
  const folder = generatedFile('packages', `${name.replace('/', '+')}@${version}`)
  if (!existsSync(join(folder, 'package.json'))) fetchTo(folder, spec)
  return readPackage(name, folder)
}

/** A range or a URL could give another package tomorrow, and would be a path of its own below `.baton/packages`. */
function refuseInexact({ title, by, name, version }: FetchSpec): void {
  if (/^\d+\.\d+\.\d+[\w.+-]*$/.test(version)) return
  throw new BatonError(
    'invalid',
    `${title}: '${by}' needs ${name}@${version} for the function's platform, which is not installed; only an exact version can be ` +
      'fetched: install the package for that platform, too',
  )
}

/** The last step is a rename, so that of two syntheses at a time both find whole folders. */
function fetchTo(folder: string, spec: FetchSpec): void {
  mkdirSync(dirname(folder), { recursive: true })
  const draft = mkdtempSync(`${folder}.`)
  try {
    const packed = pack(draft, spec)
    refuseOther(spec, packed)
    execFileSync('tar', ['-xzf', join(draft, packed.file), '-C', draft, '--strip-components=1'])
    rmSync(join(draft, packed.file))
    if (!existsSync(folder)) renameSync(draft, folder)
  } finally {
    rmSync(draft, { recursive: true, force: true })
  }
}

type Packed = { readonly file: string; readonly integrity: string }

function pack(draft: string, spec: FetchSpec): Packed {
  const root = projectRootOf(spec.from)
  const wanted = `${spec.name}@${spec.version}`
  try {
    const answer = execFileSync(
      'npm',
      ['pack', '--json', '--pack-destination', draft, ...registryOf(root), '--', wanted],
      { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] },
    )
    const [{ integrity = '' } = {}] = JSON.parse(answer) as Array<{ integrity?: string }>
    const file = readdirSync(draft).find(name => name.endsWith('.tgz')) ?? ''
    return { file, integrity }
  } catch (cause) {
    const { stderr, message } = cause as { readonly stderr?: string | null; readonly message: string }
    const reason = (stderr ?? '').split('\n').find(line => /^npm (error|ERR!)/.test(line)) ?? message
    throw new BatonError(
      'invalid',
      `${spec.title}: '${spec.by}' needs ${wanted} for the function's platform, which is not installed and could not be fetched (${reason}); ` +
        'synthesise once with access to the registry, or install the package for that platform, too',
      { cause },
    )
  }
}

/** Yarn's own settings are the only ones that npm does not read. */
function registryOf(root: string): string[] {
  const settings = join(root, '.yarnrc.yml')
  if (!existsSync(settings)) return []
  const server = /^npmRegistryServer: *["']?([^"'\s]+)/m.exec(readFileSync(settings, 'utf8'))?.[1]
  return server === undefined ? [] : ['--registry', server]
}

function refuseOther({ title, name, version, from }: FetchSpec, { integrity }: Packed): void {
  const locked = lockedIntegrity(lockFileOf(projectRootOf(from)), name, version)
  if (locked === undefined || locked === integrity) return
  throw new BatonError(
    'invalid',
    `${title}: the registry's ${name}@${version} is ${integrity}, and the lock file has ${locked}`,
  )
}

/** The hash of a package in the text of a lock file of npm, pnpm, or Yarn 1. Undefined if the file does not have it. */
export function lockedIntegrity(lockFile: string, name: string, version: string): string | undefined {
  const [of, at] = [name, version].map(text => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  const inNpm = `node_modules/${of}": \\{[^{}]*?"version": "${at}"[^{}]*?"integrity": "(sha512-[^"]+)"`
  const inOthers = `${of}@${at}['"]?:\\n[^]{0,400}?integrity:? ["']?(sha512-[^\\s"',}]+)`
  return new RegExp(inNpm).exec(lockFile)?.[1] ?? new RegExp(inOthers).exec(lockFile)?.[1]
}
