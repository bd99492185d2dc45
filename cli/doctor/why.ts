import type { WhyAnswer } from '../../shared/api/diagnosis/why.ts'
import { type Context, type FollowUp, withSystem } from '../connection/with-system.ts'
import type { DefineCommand } from '../terminal/command.ts'
import { oneLine, safeLines } from '../terminal/style.ts'
import type { Finding } from './finding.ts'

type WhyOptions = { readonly canvasId?: string }

/** `baton why`: in one sentence why a task waits, runs or has ended, and what to do. */
export const why: DefineCommand = (command, invocation) => {
  command
    .argument('<id>', 'the id of a task, such as resize:img-1')
    .option('--canvas-id <id>', 'the canvas of a member that is not published yet')
  withSystem(command, invocation, async (context, { canvasId }: WhyOptions, id: string) => {
    const answer = await context.client.why(id, canvasId === undefined ? {} : { canvasId })
    if (context.printer.isJson) context.printer.document(answer)
    else showAnswer(context, answer)
    return 0
  })
}

function showAnswer(
  { printer, followUp }: Context,
  { status, reason, sentence, next, limit, log }: WhyAnswer,
): void {
  const { style } = printer
  const because = reason === status ? '' : ` (${reason})`
  printer.line(`${style.status(status)}${because}: ${oneLine(sentence)}`)
  for (const { taskId, since } of limit?.holders ?? [])
    printer.line(`  ${oneLine(taskId)} holds a permit since ${since}`)
  printer.line(style.dim(oneLine(adviceWithCommands(next, followUp))))
  if (log === undefined) return
  printer.line()
  printer.line(style.bold('Log of the last run without success'))
  for (const line of safeLines(log.trimEnd())) printer.line(`  ${line}`)
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

/** An id stands in a path percent-encoded, or as `~` and base64url. */
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
