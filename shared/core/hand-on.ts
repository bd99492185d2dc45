import type { Json } from './json.ts'
import type { HandOn } from './previous.ts'

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
