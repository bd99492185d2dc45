import { type Command, InvalidArgumentError } from 'commander'

/** Gives a command its arguments, its options and its action. `baton.ts` has made it, with its name and its summary. */
export type DefineCommand = (command: Command) => void

/** Makes the reader of an option that must be a whole number. */
export function wholeNumber(min: number, max: number): (text: string) => number {
  return text => {
    const number = Number(text)
    if (text.trim() !== '' && Number.isInteger(number) && number >= min && number <= max) return number
    throw new InvalidArgumentError(`Give a whole number from ${min} to ${max}.`)
  }
}

/** Collects the values of an option that may be repeated. */
export function repeated(value: string, earlier: readonly string[] = []): string[] {
  return [...earlier, value]
}
