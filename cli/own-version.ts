import { readFileSync } from 'node:fs'

/** The version of this package. It is that of the whole repository. */
export function ownVersion(): string {
  const manifest = readFileSync(new URL('../package.json', import.meta.url), 'utf8')
  return (JSON.parse(manifest) as { readonly version: string }).version
}
