import { SHORT_ERROR_CHARACTERS_MAX } from '../bounds.ts'

/** Why a task or a run failed. `causes` lists the causes of the error, the nearest first. */
export type TaskError = {
  readonly name: string
  readonly message: string
  readonly stack?: string
  readonly causes?: readonly ErrorCause[]
}

export type ErrorCause = { readonly name: string; readonly message: string }

/** The error without its stack and causes. Its name and message are cut to `SHORT_ERROR_CHARACTERS_MAX`. */
export function shortError(error: TaskError): TaskError {
  return {
    name: cut(error.name, SHORT_ERROR_CHARACTERS_MAX),
    message: cut(error.message, SHORT_ERROR_CHARACTERS_MAX),
  }
}

/** Whether `shortError` may have cut the name or the message. */
export function isCut({ name, message }: TaskError): boolean {
  return [name, message].some(text => text.length >= SHORT_ERROR_CHARACTERS_MAX)
}

/** The text, cut to `most` characters. Half a surrogate pair is replaced, because it has no UTF-8 form and cannot be stored. */
export function cut(text: string, most: number): string {
  return (text.length <= most ? text : `${text.slice(0, most - 1)}…`).toWellFormed()
}
