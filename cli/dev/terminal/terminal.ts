import type { LogLine } from '../../../local/log-line.ts'
import type { DevOptions } from '../../dev.ts'
import { type Shown, terminalLine } from './terminal-lines.ts'

/** What `baton dev` prints. */
export type Terminal = {
  say(text: string): void
  /** Prints a line of a function or service, if it is shown. `label` names its stack when several run. */
  line(line: LogLine, isOwn: (source: string) => boolean, label?: string): void
  /** Changes which lines are shown. */
  show(shown: Shown): void
}

export function createTerminal({ verbose }: Pick<DevOptions, 'verbose'>, first: Shown = 'runs'): Terminal {
  let shown = verbose ? 'everything' : first
  // A progress bar may stand in the present line.
  const say = (text: string) => console.log(process.stdout.isTTY ? `\r\x1b[K${text}` : text)
  return {
    say,
    line: (line, isOwn, label) => {
      const text = terminalLine(line, { shown, isOwn })
      if (text !== undefined) say(label === undefined ? text : `[${label}] ${text}`)
    },
    show: next => {
      if (!verbose) shown = next
    },
  }
}
