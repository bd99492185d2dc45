import { COMMANDS } from '../../../cli/program/commands.ts'

/** The examples of the help, which the tests run as they are written. */

/** Commands whose examples need a process, a whole local system or files around them: `test/cli/help-examples.slow.test.ts`. */
const WITH_A_PROCESS = ['events', 'dashboard', 'dev', 'init', 'worker', 'completion']

export const examplesInProcesses = examples(name => WITH_A_PROCESS.includes(name))

/** The examples of all other commands run on an API in memory. */
export const examplesInMemory = examples(name => !WITH_A_PROCESS.includes(name))

function examples(fits: (name: string) => boolean): string[] {
  return Object.entries(COMMANDS).flatMap(([name, one]) => (fits(name) ? one.examples : []))
}

/** The words of a line of the shell, after `baton`. */
export function wordsOf(line: string): string[] {
  const call = line.slice(line.indexOf('baton ') + 'baton '.length)
  return [...call.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(
    ([, single, double, plain]) => single ?? double ?? plain ?? '',
  )
}
