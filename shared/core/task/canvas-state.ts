import type { Body, Task } from './task.ts'

/** The type under which canvases stand in the indexes; no task type can have its name. */
export const CANVAS_TYPE = 'canvas'

/** What a canvas's head keeps beside what every head has. */
export type CanvasState = {
  /** Its tree (see `canvas/tree.ts`), as JSON. */
  readonly tree: Body
  /** How many tasks it has. */
  readonly leaves: number
  /** How many of them are published at a time. */
  readonly sendConcurrency?: number
  /** Whether the leaves that need not wait for others have been published. */
  readonly started: boolean
}

/** How a member, or a part of a canvas, has ended. */
export type End = 'succeeded' | 'failed'

/** Which place in which canvas a task takes. */
export type Member = {
  /** Key of the canvas. */
  readonly canvasId: string
  /** Birth of the canvas. */
  readonly born: string
  readonly leaf: number
  /** How it ended the first time, once it has been started over: that is what its canvas counts. */
  readonly first?: 'succeeded' | 'failed'
}

/** How a task counts in its canvas: by its first end, for ever. Undefined while it has none. */
export function memberEnd({ member, state }: Task): { member: Member; end: End } | undefined {
  if (!member) return undefined
  if (member.first) return { member, end: member.first }
  if (state === 'open') return undefined
  return { member, end: state === 'succeeded' ? 'succeeded' : 'failed' }
}

/** Its canvas counts how a member ended first; one that is removed or started over while it waits has failed there. */
export function afterFirstEnd(member: Member, { state }: Task): Member {
  return { ...member, first: member.first ?? (state === 'succeeded' ? 'succeeded' : 'failed') }
}
