import { withSystem } from '../connection/with-system.ts'
import { type DefineCommand, durationOption } from '../terminal/command.ts'
import { contentLines, taskLines } from './task-view.ts'

/** `baton get`: one task with everything that the API shows of it. */
export const get: DefineCommand = (command, invocation) => {
  command.argument('<id>', 'the id of a task, such as resize:img-1')
  withSystem(command, invocation, async ({ client, printer, io, followUp }, _options: object, id: string) => {
    const task = await client.get(id)
    if (printer.isJson) return void printer.document(task)
    const viewing = { style: printer.style, now: printer.now(), columns: io.out.columns, followUp }
    for (const line of [...taskLines(task, viewing), ...contentLines(task, viewing)]) printer.line(line)
    return undefined
  })
}

const RESULT_TIMEOUT_MS = 30_000

type ResultOptions = { readonly timeout: number }

/** `baton result`: prints the result as JSON. A task that failed, or did not end in time, ends it with code 1. */
export const result: DefineCommand = (command, invocation) => {
  command
    .argument('<id>', 'the id of a task, such as resize:img-1')
    .addOption(durationOption('--timeout <duration>', 'how long to wait for the end', RESULT_TIMEOUT_MS))
  withSystem(command, invocation, async ({ client, printer, io }, { timeout }: ResultOptions, id: string) => {
    printer.document((await client.result(typeOf(id), id, { timeoutMs: timeout, signal: io.signal })) ?? null)
    return undefined
  })
}

function typeOf(id: string): string {
  return id.split(':', 1)[0] ?? ''
}
