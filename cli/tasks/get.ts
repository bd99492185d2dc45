import type { DefineCommand } from '../command.ts'
import { withSystem } from '../system/with-system.ts'
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
