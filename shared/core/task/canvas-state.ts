import type { Body } from './body.ts'
import type { HeadFields, HeadState } from './head-fields.ts'

/** The type under which canvases are indexed. No task type can have this name. */
export const CANVAS_TYPE = 'canvas'

/** The fields that only the head of a canvas has. */
export type CanvasState = {
  /** The canvas's layout (see `canvas/layout.ts`), as JSON. */
  readonly tree: Body
  /** The number of its tasks. */
  readonly leaves: number
  /** How many of its tasks are published at a time. */
  readonly sendConcurrency?: number
  /** Whether the leaves that need not wait for others have been published. */
  readonly started: boolean
}

/**
 * The head of a canvas: the fields that all kinds of heads share, and those of canvases alone. The tombstone of a removed canvas
 * keeps no tree.
 */
export type Canvas = PresentCanvas | RemovedCanvas

export type PresentCanvas = HeadFields & {
  readonly kind: 'canvas'
  readonly state: Exclude<HeadState, 'removed'>
  /** The W3C trace context of the canvas's publish. */
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
  /** The key of the canvas. */
  readonly canvasId: string
  /** The birth of the canvas. */
  readonly born: string
  readonly leaf: number
  /** The task's first end, once the task has been started over. The canvas counts only the first end. */
  readonly first?: 'succeeded' | 'failed'
}

type MayBeMember = Pick<HeadFields, 'state'> & { readonly member?: Member }

/** The end by which a task counts in its canvas: its first end, also after a restart. Undefined before the first end. */
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
