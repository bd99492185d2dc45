/**
 * `baton doctor`: checks a system, or says why one task does not run. Each check is a function that returns findings; a finding of
 * level `wrong` ends the command with code 1. The checks read what every reader of the API may read, and for a
 * deployed stack what AWS says about it. A read that AWS refuses is a finding, too, and names the permission. They change nothing.
 */

import { type Context, withSystem } from '../connection/with-system.ts'
import type { DefineCommand } from '../terminal/command.ts'
import { FAILED_EXIT_CODE } from '../terminal/say.ts'
import { safeLines } from '../terminal/style.ts'
import { checkBootstrap, checkFunctions, checkQueues, checkStack } from './check-stack.ts'
import { checkClock, checkDeadLetters, checkTypes, checkVersion } from './check-system.ts'
import type { Finding } from './finding.ts'
import { checkTask } from './why.ts'

export const doctor: DefineCommand = (command, invocation) => {
  command.argument('[id]', 'the id of a task; without it the whole system is checked')
  withSystem(command, invocation, async (context, _options: object, id?: string) => {
    const findings = id === undefined ? await checkSystem(context) : await checkTask(context, id)
    for (const finding of findings) show(context, finding)
    return findings.some(({ level }) => level === 'wrong') ? FAILED_EXIT_CODE : 0
  })
}

const CHECKS = [
  checkVersion,
  checkStack,
  checkBootstrap,
  checkFunctions,
  checkQueues,
  checkTypes,
  checkDeadLetters,
] as const

/** The first check shows whether the API answers at all. The others read side by side. */
async function checkSystem(context: Context): Promise<Finding[]> {
  const first = await checkClock(context)
  const rest = await Promise.all(CHECKS.map(check => check(context)))
  return [...first, ...rest.flat()]
}

const MARKS = { fine: '✓', notice: '!', wrong: '✗' } as const
const LOOKS = { fine: 'green', notice: 'yellow', wrong: 'red' } as const

function show({ printer }: Context, finding: Finding): void {
  if (printer.isJson) {
    printer.record(finding)
    return
  }
  const { level, text, next } = finding
  const mark = printer.style[LOOKS[level]](MARKS[level])
  printer.line(`${mark} ${safeLines(text).join(' ')}`)
  if (next !== undefined) printer.line(`  ${printer.style.dim(safeLines(next).join(' '))}`)
}
