import type { WhyAnswer } from '../../shared/api/diagnosis/why.ts'
import type { DefineCommand } from '../command.ts'
import { type Context, withSystem } from '../system/with-system.ts'
import { oneLine, safeLines } from '../terminal/safe-text.ts'
import { adviceWithCommands } from './advice.ts'

type Options = { readonly canvasId?: string }

/** `baton why`: in one sentence why a task waits, runs or has ended, and what to do. */
export const why: DefineCommand = (command, invocation) => {
  command
    .argument('<id>', 'the id of a task, such as resize:img-1')
    .option('--canvas-id <id>', 'the canvas of a member that is not published yet')
  withSystem(command, invocation, async (context, { canvasId }: Options, id: string) => {
    const answer = await context.client.why(id, canvasId === undefined ? {} : { canvasId })
    if (context.printer.isJson) context.printer.document(answer)
    else show(context, answer)
    return 0
  })
}

function show(
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
