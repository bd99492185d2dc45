import type { Body } from './body.ts'
import type { HeadFields, HeadState } from './head-fields.ts'

/** The type under which canvases are indexed. No task type can have this name. */
export const CANVAS_TYPE = 'canvas'

/** The fields that only the head of a canvas has. */
export type CanvasState = {
  /** Its tree (see `canvas/tree.ts`), as JSON. */
  readonly tree: Body
  /** Number of its tasks. */
  readonly leaves: number
  /** How many of its tasks are published at a time. */
  readonly sendConcurrency?: number
  /** Whether the leaves that need not wait for others have been published. */
  readonly started: boolean
}

/**
 * The head of a canvas: what the kinds of heads share, and what only canvases have. The tombstone of a removed canvas has lost its
 * tree.
 */
export type Canvas = PresentCanvas | RemovedCanvas

export type PresentCanvas = HeadFields & {
  readonly kind: 'canvas'
  readonly state: Exclude<HeadState, 'removed'>
  /** W3C trace context the canvas was published under. */
  readonly traceparent?: string
  /** Set while the canvas is cancelled and its members are not all cancelled. */
  readonly owes?: true
  readonly canvas: CanvasState
}

type RemovedCanvas = HeadFields & {
  readonly kind: 'canvas'
  readonly state: 'removed'
  readonly traceparent?: never
  readonly owes?: never
  readonly canvas?: never
}

/** How a member, or a part of a canvas, has ended. */
export type End = 'succeeded' | 'failed'

/** The canvas that a task belongs to, and its number among the canvas's leaves. */
export type Member = {
  /** Key of the canvas. */
  readonly canvasId: string
  /** Birth of the canvas. */
  readonly born: string
  readonly leaf: number
  /** The task's first end, once the task has been started over. The canvas counts only the first end. */
  readonly first?: 'succeeded' | 'failed'
}

type MayBeMember = Pick<HeadFields, 'state'> & { readonly member?: Member }

/** The end by which a task counts in its canvas. It is the task's first end, for ever. Undefined before that. */
export function memberEnd({ member, state }: MayBeMember): { member: Member; end: End } | undefined {
  if (!member) return undefined
  if (member.first) return { member, end: member.first }
  if (state === 'open') return undefined
  return { member, end: state === 'succeeded' ? 'succeeded' : 'failed' }
}

/** The member with its first end recorded. A member that is removed or started over while it waits counts as failed. */
export function afterFirstEnd(member: Member, { state }: MayBeMember): Member {
  return { ...member, first: member.first ?? (state === 'succeeded' ? 'succeeded' : 'failed') }
}
