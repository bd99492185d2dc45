import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { folderOf, type Package, ROOT } from './packages.ts'

/**
 * Writes the licences of all packages that the bundles contain: they allow copies on the condition that their texts go with
 * them. `inputs` are the bundled files. A package without bundles gets no file.
 *
 * @throws Error when a bundled package names no licence
 */
export function writeNotices(one: Package, inputs: readonly string[]): void {
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

/** Some packages only name their licence. Then the name stands in place of the text. */
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
