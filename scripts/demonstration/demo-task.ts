import type { ApiCanvas } from '../../shared/api/canvases.ts'
import type { DerivedBody, PublishBody } from '../../shared/api/publish.ts'
import type { ApiTask } from '../../shared/api/tasks.ts'
import type { TypeBody } from '../../shared/api/types.ts'
import type { Canvas } from '../../shared/define/canvases.ts'

type Ended = 'succeeded' | 'failed'

/** One task of the demonstration: its publication, and its expected end. */
export type DemoTask = {
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
export type DemoCanvas = {
  readonly group: string
  readonly key: string
  readonly canvas: Canvas
  /** How many tasks the canvas has. */
  readonly tasks: number
  readonly problem: (canvas: ApiCanvas) => string | undefined
}

/** The types that the demonstration registers, by name, in this order. */
export type Types = Readonly<Record<string, TypeBody>>

/** The number of tasks, including members of canvases and the callbacks that the expected ends publish. */
export function taskCountOf(demoTasks: readonly DemoTask[], canvases: readonly DemoCanvas[]): number {
  const members = canvases.reduce((sum, { tasks }) => sum + tasks, 0)
  const callbacks = demoTasks.reduce((sum, demoTask) => sum + callbacksOf(demoTask).length, 0)
  return demoTasks.length + members + callbacks
}

/** The callbacks that must be published after the task has ended as expected. */
export function callbacksOf({ publication, expected }: DemoTask): readonly DerivedBody[] {
  return (expected.status === 'succeeded' ? publication.onSuccess : publication.onError) ?? []
}
