import { SHORT_ERROR_CHARACTERS_MAX } from '../bounds.ts'

/** Why a task or a run failed. `causes` lists the causes of the error, the nearest first. */
export type TaskError = {
  readonly name: string
  readonly message: string
  readonly stack?: string
  readonly causes?: readonly ErrorCause[]
}

export type ErrorCause = { readonly name: string; readonly message: string }

/** The error without stack and causes, its name and message cut to `SHORT_ERROR_CHARACTERS_MAX`. */
export function shortError(error: TaskError): TaskError {
  return {
    name: cut(error.name, SHORT_ERROR_CHARACTERS_MAX),
    message: cut(error.message, SHORT_ERROR_CHARACTERS_MAX),
  }
}

/** Whether the head may have kept less than the whole name and message. */
export function isCut({ name, message }: TaskError): boolean {
  return [name, message].some(text => text.length >= SHORT_ERROR_CHARACTERS_MAX)
}

/** The text, cut to `most` characters. It never ends in half a surrogate pair, which has no UTF-8 and cannot be stored. */
export function cut(text: string, most: number): string {
  return (text.length <= most ? text : `${text.slice(0, most - 1)}…`).toWellFormed()
}
