import { readFileSync, writeFileSync } from 'node:fs'
import { ACCOUNT_ID, REGION } from '../../../local/account.ts'

/** The environment of a stack, as the assembly names it. A stack without `env` has `unknown-account` or `unknown-region`. */
const ENVIRONMENT = /^aws:\/\/(\d{12}|unknown-account)\/([a-z0-9-]+)$/

/**
 * Reads a template, and moves it to the account and region of the local cloud. A stack with an `env` of its own names both in
 * its ARNs, where a stack without one has references. The file is changed, too: the local cloud reads it.
 */
export function readInLocalPlace(file: string, environment: string | undefined): string {
  const text = readFileSync(file, 'utf8')
  const [, account = '', region = ''] = ENVIRONMENT.exec(environment ?? '') ?? []
  const moved = text
    .replaceAll(...pair(account, 'unknown-account', ACCOUNT_ID))
    .replaceAll(...pair(region, 'unknown-region', REGION))
  if (moved !== text) writeFileSync(file, moved)
  return moved
}

function pair(named: string, unknown: string, local: string): [string, string] {
  return named === '' || named === unknown ? [local, local] : [named, local]
}
