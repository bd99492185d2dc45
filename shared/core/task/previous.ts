import type { Json } from '../values/json.ts'
import type { Body } from './body.ts'

/**
 * The way in which an array input takes the value that is handed on. `append` adds the value as one more argument, `spread` adds
 * each of its members, and `prepend` puts an error's message in front.
 */
export type HandOn = 'append' | 'spread' | 'prepend'

/**
 * The value that an earlier task handed on: a body of this task, a result that the earlier task keeps apart, or the value of a part
 * of a canvas. A reader assembles the value of a part from the members' results.
 */
export type Previous = { readonly handOn: HandOn } & (
  | { readonly kind: 'body'; readonly body: Body }
  | { readonly kind: 'result'; readonly taskId: string; readonly ref: string; readonly bytes: number }
  | { readonly kind: 'node'; readonly canvasId: string; readonly born: string; readonly node: number }
)

/**
 * The input that a worker gets, with the value that was handed on. An array input takes the value of a chain as one more argument,
 * the value of a chord as several, and the message of an error in front. Any other input stays unchanged.
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
