import { styleText } from 'node:util'

type Look = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan'

/** Gives text colours, or returns it as it is when there are none. */
export type Style = Readonly<Record<Look, (text: string) => string>> & {
  /** Gives the name of a task's status its colour. */
  status(status: string): string
}

const LOOKS = ['bold', 'dim', 'red', 'green', 'yellow', 'cyan'] as const

const LOOK_OF_STATUS: Readonly<Record<string, Look>> = {
  running: 'cyan',
  compensating: 'yellow',
  succeeded: 'green',
  failed: 'red',
  lost: 'red',
  'undo-failed': 'red',
  cancelled: 'dim',
  delayed: 'dim',
  pending: 'dim',
  skipped: 'dim',
}

export function createStyle(isColoured: boolean): Style {
  const look = (name: Look) => (text: string) =>
    // Newer versions of Node ask the standard output by themselves. This caller has decided already.
    isColoured ? styleText(name, text, { validateStream: false }) : text
  const looks = Object.fromEntries(LOOKS.map(name => [name, look(name)])) as Record<
    Look,
    (t: string) => string
  >
  return {
    ...looks,
    status: status => (LOOK_OF_STATUS[status] ? looks[LOOK_OF_STATUS[status]](status) : status),
  }
}

/**
 * Whether a stream gets colours: a terminal does, unless the user does not want them (`--no-color`, `NO_COLOR`) or the terminal has
 * none (`TERM=dumb`). `FORCE_COLOR` asks for them without a terminal.
 */
export function wantsColours(
  stream: { readonly isTTY: boolean },
  env: Readonly<Record<string, string | undefined>>,
  isAllowed = true,
): boolean {
  if (!isAllowed || env.NO_COLOR) return false
  if (env.FORCE_COLOR) return env.FORCE_COLOR !== '0'
  return stream.isTTY && env.TERM !== 'dumb'
}
