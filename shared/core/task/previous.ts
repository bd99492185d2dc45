import type { Json } from '../json.ts'
import type { Body } from './task.ts'

/** How an input that is an array takes what is handed on: as one more argument, as so many, or in front. */
export type HandOn = 'append' | 'spread' | 'prepend'

/**
 * What the task before handed on: a value of its own, the result that another task keeps apart, or the value of a part of
 * a canvas, which is put together from its members' results when somebody needs it.
 */
export type Previous = { readonly handOn: HandOn } & (
  | { readonly kind: 'body'; readonly body: Body }
  | { readonly kind: 'result'; readonly taskId: string; readonly ref: string; readonly bytes: number }
  | { readonly kind: 'node'; readonly canvasId: string; readonly born: string; readonly node: number }
)

/**
 * The input that a worker gets, what was handed on included: an input that is an array takes a chain's value as one
 * more argument, a chord's as many, and in front the message of an error. Any other input stays as it is.
 */
export function effectiveInput(input: Json | undefined, previous: Json, handOn: HandOn): Json | undefined {
  if (!Array.isArray(input)) return input
  switch (handOn) {
    case 'append':
      return [...input, previous]
    case 'spread':
      return [...input, ...(Array.isArray(previous) ? previous : [previous])]
    case 'prepend':
      return [messageOf(previous), ...input]
  }
}

/** The message of a handed-on `{error, taskId}`. */
function messageOf(previous: Json): Json {
  const { error } = Object(previous) as { error?: { message?: Json } }
  return error?.message ?? null
}
