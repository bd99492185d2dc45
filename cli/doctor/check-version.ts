import { ownVersion } from '../own-version.ts'
import { shellWord } from '../say.ts'
import type { Context } from '../system/with-system.ts'
import type { Finding } from './finding.ts'

const CHECK = 'version'

/**
 * Whether this command and the system understand each other. Both follow semantic versioning: within a major version the API only grows. As
 * long as the major version is 0, each minor version counts as one.
 */
export async function checkVersion({ client }: Context): Promise<Finding[]> {
  const { version: theirs } = (await client.health()) as { readonly version?: string }
  return [compared(ownVersion(), theirs)]
}

/** Compares the version of this command with the one that the API tells. An API of an early version tells none. */
export function compared(own: string, theirs: string | undefined): Finding {
  const [ownLine, theirLine] = [lineOf(own), lineOf(theirs ?? '')]
  if (theirs === undefined || theirLine === undefined) {
    const text = `the API does not tell its version; this command has version ${own}`
    return { level: 'notice', check: CHECK, text, next: 'deploy the system again with a present version' }
  }
  if (ownLine === theirLine) {
    const both = own === theirs ? `version ${own}` : `versions ${own} and ${theirs}, which fit`
    return { level: 'fine', check: CHECK, text: `this command and the system have ${both}` }
  }
  return {
    level: 'notice',
    check: CHECK,
    text: `this command has version ${own} and the system ${theirs}: calls and answers may differ`,
    next: `use the command of the system: npx ${shellWord(`baton-tasks@${theirs}`)}; or deploy the system with ${own}`,
  }
}

/** The versions that understand each other: `1` for `1.4.2`, `0.3` for `0.3.1`. Undefined for a text that is no version. */
function lineOf(version: string): string | undefined {
  const [, major, minor] = /^(\d+)\.(\d+)\.\d+[\w.+-]*$/.exec(version) ?? []
  return major === '0' ? `0.${minor}` : major
}
