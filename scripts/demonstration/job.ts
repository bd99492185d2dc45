import type { ApiCanvas } from '../../shared/api/canvases.ts'
import type { DerivedBody, PublishBody } from '../../shared/api/publish.ts'
import type { ApiTask } from '../../shared/api/tasks.ts'
import type { TypeBody } from '../../shared/api/types.ts'
import type { Canvas } from '../../shared/define/canvases.ts'

type Ended = 'succeeded' | 'failed'

/** One task of the demonstration (no long job of Baton's jobs queue): its publication, and its expected end. */
export type Job = {
  readonly group: string
  readonly publication: PublishBody & { readonly key: string }
  readonly expected: {
    readonly status: Ended
    readonly runs?: number
    /** The problem of the ended task; undefined if there is none. */
    problem?(task: ApiTask): string | undefined
  }
}

/** One canvas of the demonstration. All its members must succeed. */
export type CanvasJob = {
  readonly group: string
  readonly key: string
  readonly canvas: Canvas
  /** How many tasks the canvas has. */
  readonly tasks: number
  readonly problem: (canvas: ApiCanvas) => string | undefined
}

/** The types that the demonstration registers, by name, in this order. */
export type Types = Readonly<Record<string, TypeBody>>

/** The number of tasks, including members of canvases and the callbacks of each end. */
export function taskCountOf(jobs: readonly Job[], canvases: readonly CanvasJob[]): number {
  const members = canvases.reduce((sum, { tasks }) => sum + tasks, 0)
  const callbacks = jobs.reduce((sum, job) => sum + callbacksOf(job).length, 0)
  return jobs.length + members + callbacks
}

/** The callbacks that must be published after the job has ended as expected. */
export function callbacksOf({ publication, expected }: Job): readonly DerivedBody[] {
  return (expected.status === 'succeeded' ? publication.onSuccess : publication.onError) ?? []
}
