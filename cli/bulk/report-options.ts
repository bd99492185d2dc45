import { type Command, Option } from 'commander'
import { wholeNumber } from '../command.ts'

/** The calls of a command for many tasks: what they are called in the help, and how many of them are made at the same time. */
type Calls = { readonly what: string; readonly usual: number; readonly max: number }

/** Adds the options of a command for many tasks: those of its own, and those of its report and its calls. */
export function addReportOptions(
  command: Command,
  own: readonly Option[],
  { what, usual, max }: Calls,
): void {
  const options = [
    ...own,
    new Option('--report <file>', 'where the report is written (default: a file in this folder)'),
    new Option('--resume <file>', 'goes on with the report of an interrupted command').conflicts('report'),
    new Option('--concurrency <n>', `${what} at the same time`).default(usual).argParser(wholeNumber(1, max)),
  ]
  for (const option of options) command.addOption(option.helpGroup('Many tasks:'))
}
