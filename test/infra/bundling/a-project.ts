import { mkdirSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { aFolder, type Content } from '../../support/a-folder.ts'

/** Writes a project to a folder of its own, and returns the folder. An object is written as JSON. */
export const aProject = (files: Readonly<Record<string, Content>>) =>
  aFolder({ 'package.json': { name: 'shop' }, ...files })

/**
 * The files of installed packages, by their paths below the project's `node_modules`. Each manifest is given without what all have;
 * the version is 1.0.0 unless it says otherwise.
 */
export function installed(manifests: Readonly<Record<string, object>>): Record<string, Content> {
  return Object.fromEntries(
    Object.entries(manifests).flatMap(([path, manifest]) => [
      [`node_modules/${path}/package.json`, { version: '1.0.0', ...manifest }],
      [`node_modules/${path}/index.js`, ''],
    ]),
  )
}

/** Links `from` to `to`, as pnpm links packages. */
export function link(root: string, from: string, to: string): void {
  mkdirSync(dirname(join(root, from)), { recursive: true })
  symlinkSync(join(root, to), join(root, from))
}

/** The source of a definition that no `defineTask` has made, with further code before it. */
export function aDefinition(type: string, code = ''): string {
  return `${code}\nexport const ${type} = { kind: 'baton-task', type: '${type}', config: { kind: 'handler', defaults: {} }, run: () => undefined }\n`
}

const MACHINES = { x64: 0x3e, arm64: 0xb7 }

/** The head of machine code for Linux. */
export function elf(cpu: keyof typeof MACHINES): Buffer {
  const head = Buffer.alloc(64)
  head.write('7f454c46', 'hex')
  head.writeUInt16LE(MACHINES[cpu], 18)
  return head
}

/** The head of machine code for macOS. */
export const MACH_O = Buffer.from('cffaedfe0c000001', 'hex')
