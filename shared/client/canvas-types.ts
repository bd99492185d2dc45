/** Canvases in the HTTP API's answers. */
import type { Json } from '../core/json.ts'
import type { Status } from '../core/task/lifecycle.ts'
import type { TaskError } from '../core/task/task.ts'

/** A member's own status; `pending` waits for others, `skipped` never runs. */
type MemberStatus = Status | 'pending' | 'skipped'

/** Above 1,000 tasks their ids are left out. */
export type CanvasAnswer = {
  readonly id: string
  readonly created: boolean
  readonly taskIds?: readonly string[]
}

/** A canvas with a page of its tasks, in the order of its body. */
export type ApiCanvas = {
  readonly id: string
  readonly status: 'running' | 'succeeded' | 'failed' | 'cancelled'
  /** On the first page, unless it is too long for an answer: above some 4 MB, counting each quote and backslash twice. */
  readonly result?: Json
  readonly error?: TaskError
  /** Above 1,000 tasks all that may have been published and have not ended count as running. */
  readonly counts: Readonly<Record<MemberStatus, number>>
  readonly items: ReadonlyArray<{
    /** Where in the body it stands: `chord.group.3`. */
    readonly path: string
    readonly taskId: string
    readonly status: MemberStatus
    readonly result?: Json
    readonly error?: TaskError
  }>
  readonly createdAt: string
  readonly finishedAt?: string
  readonly nextCursor?: string
}
