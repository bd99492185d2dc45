import type { ApiCanvas } from '../../shared/api/canvases.ts'
import type { DerivedBody, PublishBody } from '../../shared/api/publish.ts'
import type { ApiTask } from '../../shared/api/tasks.ts'
import type { TypeBody } from '../../shared/api/types.ts'
import type { Canvas } from '../../shared/define/canvases.ts'

type Ended = 'succeeded' | 'failed'

/** One task of the demonstration: what is published, and how it must end. */
export type Job = {
  readonly group: string
  readonly publication: PublishBody & { readonly key: string }
  readonly expected: {
    readonly status: Ended
    readonly runs?: number
    /** What is wrong with the ended task; undefined when nothing is. */
    problem?(task: ApiTask): string | undefined
  }
}

/** One canvas of the demonstration, all of whose members must succeed. */
export type CanvasJob = {
  readonly group: string
  readonly key: string
  readonly canvas: Canvas
  /** How many tasks it has. */
  readonly tasks: number
  readonly problem: (canvas: ApiCanvas) => string | undefined
}

/** Types that the demonstration registers, in this order, by their names. */
export type Types = Readonly<Record<string, TypeBody>>

/** How many tasks come of these: members of canvases are tasks, and so are the callbacks that each end has. */
export function taskCountOf(jobs: readonly Job[], canvases: readonly CanvasJob[]): number {
  const members = canvases.reduce((sum, { tasks }) => sum + tasks, 0)
  const callbacks = jobs.reduce((sum, job) => sum + callbacksOf(job).length, 0)
  return jobs.length + members + callbacks
}

/** What must be published once the job has ended as expected. */
export function callbacksOf({ publication, expected }: Job): readonly DerivedBody[] {
  return (expected.status === 'succeeded' ? publication.onSuccess : publication.onError) ?? []
}
