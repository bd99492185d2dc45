import type { WhyAnswer } from '../../shared/api/diagnosis/why.ts'
import { type Context, type FollowUp, withSystem } from '../connection/with-system.ts'
import type { DefineCommand } from '../terminal/command.ts'
import { FAILED_EXIT_CODE } from '../terminal/io.ts'
import { oneLine, safeLines } from '../terminal/style.ts'
import { checkBootstrap, checkFunctions, checkQueues, checkStack, type Finding } from './check-stack.ts'
import { checkClock, checkDeadLetters, checkTypes, checkVersion } from './check-system.ts'

/**
 * `baton doctor`: checks a system, or says why one task does not run. Each check is a function that returns findings; a finding of
 * level `wrong` ends the command with code 1. The checks read what every reader of the API may read, and for a
 * deployed stack what AWS says about it. A read that AWS refuses is a finding, too, and names the permission. They change nothing.
 */

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
  if (printer.isJson) return void printer.record(finding)
  const { level, text, next } = finding
  const mark = printer.style[LOOKS[level]](MARKS[level])
  printer.line(`${mark} ${safeLines(text).join(' ')}`)
  if (next !== undefined) printer.line(`  ${printer.style.dim(safeLines(next).join(' '))}`)
}

type WhyOptions = { readonly canvasId?: string }

/** `baton why`: in one sentence why a task waits, runs or has ended, and what to do. */
export const why: DefineCommand = (command, invocation) => {
  command
    .argument('<id>', 'the id of a task, such as resize:img-1')
    .option('--canvas-id <id>', 'the canvas of a member that is not published yet')
  withSystem(command, invocation, async (context, { canvasId }: WhyOptions, id: string) => {
    const answer = await context.client.why(id, canvasId === undefined ? {} : { canvasId })
    context.printer.answer(answer, ...answerLines(context, answer))
  })
}

function answerLines(
  { printer: { style }, followUp }: Context,
  { status, reason, sentence, next, limit, log }: WhyAnswer,
): string[] {
  const because = reason === status ? '' : ` (${reason})`
  const logLines = log === undefined ? [] : safeLines(log.trimEnd()).map(line => `  ${line}`)
  return [
    `${style.status(status)}${because}: ${oneLine(sentence)}`,
    ...(limit?.holders ?? []).map(
      ({ taskId, since }) => `  ${oneLine(taskId)} holds a permit since ${since}`,
    ),
    style.dim(oneLine(adviceWithCommands(next, followUp))),
    ...(log === undefined ? [] : ['', style.bold('Log of the last run without success'), ...logLines]),
  ]
}

/**
 * The advice of the API names calls of the API. This table names the commands that make these calls, so that a reader at a terminal can
 * paste them. A call without a command stays as it is.
 */

/** `first` and `second` are what the call has in its places. */
type Translation = readonly [call: RegExp, words: (first: string, second: string) => readonly string[]]

const TRANSLATIONS: readonly Translation[] = [
  [
    /POST \/v1\/tasks\/([^/\s]+)\/retry with \{"action": "([a-z-]+)"\}/g,
    (path, action) => ['retry', idInPath(path), '--action', action],
  ],
  [/POST \/v1\/tasks\/([^/\s]+)\/retry/g, path => ['retry', idInPath(path)]],
  [/POST \/v1\/tasks\/([^/\s]+)\/cancel/g, path => ['cancel', idInPath(path)]],
  [/DELETE \/v1\/tasks\/([^/\s]+)/g, path => ['remove', idInPath(path)]],
  [/POST \/v1\/types\/([^/\s]+)\/resume/g, path => ['resume', idInPath(path)]],
  [/POST \/v1\/dead-letters\/replay with \{"ids": \["([^"]+)"\]\}/g, id => ['dead-letters', 'replay', id]],
]

export function adviceWithCommands(advice: string, followUp: FollowUp): string {
  return TRANSLATIONS.reduce(
    (text, [call, words]) =>
      text.replace(call, (_call, first: string, second: string) => followUp(...words(first, second))),
    advice,
  )
}

/** A path has an id percent-encoded, or as `~` and base64url. */
function idInPath(segment: string): string {
  if (segment.startsWith('~')) return Buffer.from(segment.slice(1), 'base64url').toString('utf8')
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}

/** Every other reason is a notice: the task waits for something, which may be intended. */
const LEVELS: Partial<Readonly<Record<WhyAnswer['reason'], Finding['level']>>> = {
  due: 'fine',
  dispatched: 'fine',
  canvas: 'fine',
  running: 'fine',
  succeeded: 'fine',
  crashing: 'wrong',
  stuck: 'wrong',
  'undo-failed': 'wrong',
  failed: 'wrong',
}

/** Why a task does not run, or how it ended. The API knows. */
export async function checkTask({ client, followUp }: Context, id: string): Promise<Finding[]> {
  const { reason, sentence, next } = await client.why(id)
  const advice = adviceWithCommands(next, followUp)
  return [{ level: LEVELS[reason] ?? 'notice', check: 'task', text: sentence, next: advice }]
}
