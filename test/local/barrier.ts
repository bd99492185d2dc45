import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { aFolder } from '../support/a-folder.ts'
import { eventually } from './tiny-cloud.ts'

/** Code of a handler that answers with its version. An event with a `folder` says there that it has begun, and waits for `open`. */
export const waitingCode = (version: string) => `
  const { existsSync, writeFileSync } = require('node:fs')
  exports.handler = async (event, context) => {
    const answer = { version: '${version}', pid: process.pid, leftMs: context.getRemainingTimeInMillis() }
    if (!event.folder) return answer
    writeFileSync(event.folder + '/begun', '')
    while (!existsSync(event.folder + '/open')) await new Promise(resolve => setTimeout(resolve, 5))
    return answer
  }`

/** A folder at which an invocation waits until the test opens it. */
export function createBarrier() {
  const folder = aFolder()
  return {
    folder,
    begun: () => eventually('the begin of the invocation', () => existsSync(join(folder, 'begun'))),
    open: () => writeFileSync(join(folder, 'open'), ''),
  }
}
