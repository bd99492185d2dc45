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
