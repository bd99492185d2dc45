import type { Json } from '../json.ts'
import type { Body } from './body.ts'

/**
 * How an input that is an array takes the value that is handed on: as one more argument (`append`), each member as an argument
 * (`spread`), or in front (`prepend`).
 */
export type HandOn = 'append' | 'spread' | 'prepend'

/**
 * The value that the task before handed on: a body of this task, a result that the other task keeps apart, or the value of a part
 * of a canvas. The last one is assembled from the members' results when a reader needs it.
 */
export type Previous = { readonly handOn: HandOn } & (
  | { readonly kind: 'body'; readonly body: Body }
  | { readonly kind: 'result'; readonly taskId: string; readonly ref: string; readonly bytes: number }
  | { readonly kind: 'node'; readonly canvasId: string; readonly born: string; readonly node: number }
)

/**
 * The input that a worker gets, with the value that was handed on. An input that is an array takes the value of a chain as one more
 * argument, the value of a chord as several, and the message of an error in front. Any other input stays as it is.
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
