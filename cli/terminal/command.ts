import { text as allOf } from 'node:stream/consumers'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { BatonError, type Json, messageOf } from '../../shared/core/values/values.ts'
import type { Io } from './io.ts'

/** One call of the command line: its terminal, and the exit code with which the process is to end. */
export type Invocation = Io & {
  /** Ends the process with this code when the command is done. @default 0 */
  exitWith(code: number): void
}

/** Gives a command its arguments, its options and its action. `run-baton.ts` has made it, with its name, summary and examples. */
export type DefineCommand = (command: Command, invocation: Invocation) => void

/** Makes the reader of an option that must be a whole number. */
export function wholeNumber(min: number, max: number): (text: string) => number {
  return text => {
    const number = Number(text)
    if (text.trim() !== '' && Number.isInteger(number) && number >= min && number <= max) return number
    throw new InvalidArgumentError(`Give a whole number from ${min} to ${max}.`)
  }
}

const UNITS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  min: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 7 * 86_400_000,
}

/** Reads a duration such as `500ms`, `30s`, `5m`, `2h`, `7d` or `1w`. Returns milliseconds. */
export function duration(text: string): number {
  const ms = durationIn(text)
  if (ms !== undefined) return ms
  throw new InvalidArgumentError('Give a duration such as 500ms, 30s, 5m, 2h or 7d.')
}

/** Reads a time: a duration counts back from `now`, and anything else is a date. Returns ISO 8601 in UTC. */
export function timeBefore(now: number): (text: string) => string {
  return text => {
    const ms = durationIn(text)
    const at = ms === undefined ? Date.parse(text) : now - ms
    const date = new Date(at)
    if (!Number.isNaN(date.getTime())) return date.toISOString()
    throw new InvalidArgumentError(
      'Give a time such as 2026-11-23T10:00Z, or a duration before now such as 2h.',
    )
  }
}

function durationIn(text: string): number | undefined {
  const [, number, unit = ''] = /^(\d+(?:\.\d+)?)(ms|s|min|m|h|d|w)$/.exec(text.trim()) ?? []
  const ms = UNITS[unit]
  return number === undefined || ms === undefined ? undefined : Math.round(Number(number) * ms)
}

/** An option that is a duration, whose default the help shows as the user would write it. */
export function durationOption(flags: string, description: string, usualMs: number): Option {
  return new Option(flags, description).argParser(duration).default(usualMs, `${usualMs / 1_000}s`)
}

/** Collects the values of an option that may be repeated. */
export function repeated(value: string, earlier: readonly string[] = []): string[] {
  return [...earlier, value]
}

/** Makes the reader of an option that takes some of a closed list of words: repeated, or with commas between them. */
export function someOf<Word extends string>(
  words: readonly Word[],
): (text: string, earlier?: readonly Word[]) => Word[] {
  return (text, earlier = []) => {
    const given = text.split(',').map(word => word.trim())
    const wrong = given.find(word => !words.includes(word as Word))
    if (wrong !== undefined) throw new InvalidArgumentError(`Give some of ${words.join(', ')}.`)
    return [...earlier, ...(given as Word[])]
  }
}

/**
 * Lets the command that runs without a further word, `list`, refuse a word that names no command. Otherwise the error would speak of `list`,
 * which the user has not written.
 */
export function refuseUnknownWord(command: Command, list: Command): void {
  list.allowExcessArguments(true).hook('preAction', ({ args: [word] }) => {
    if (word === undefined) return
    const names = command.commands.map(one => one.name()).join(', ')
    command.error(`unknown command '${word}' of ${command.name()}: there are ${names}`)
  })
}

/**
 * Reads an argument that is JSON, or from the input when it is `-`.
 *
 * @throws BatonError `invalid` that names `what` it is.
 */
export async function jsonArgument(
  text: string,
  what: string,
  input: AsyncIterable<Uint8Array | string>,
): Promise<Json> {
  const json = text === '-' ? await allOf(input) : text
  try {
    return JSON.parse(json) as Json
  } catch (cause) {
    throw new BatonError('invalid', `${what} is not JSON: ${messageOf(cause)}`, { cause })
  }
}
