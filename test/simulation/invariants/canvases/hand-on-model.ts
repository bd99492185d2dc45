import type { Task } from '../../../../shared/core/task/task.ts'
import { jobsIn } from '../../jobs-in.ts'
import type { Job, Step } from '../../scenario.ts'
import { callbackOwnersIn } from '../publishing/callbacks.ts'
import { isCancelledUnpublished, nonceOf, type Result, resultIn } from '../publishing/tags.ts'
import { failure, partValue, type Source, sourcesIn } from './canvas-model.ts'
import { trackCanvases } from './canvases.ts'

/** The results of a task, one for each time that it succeeded. */
type Past = {
  readonly results: Array<Result | null>
  /** Whether the task was removed or restarted. What it hands on is then uncertain. */
  isRestarted: boolean
}

export type HandOnModel = {
  see(before: Task | undefined, after: Task): void
  /** The values that a task may be handed; undefined when they cannot be known. */
  expected(task: Task, job: Job): readonly unknown[] | undefined
}

const RESTARTING: ReadonlySet<string> = new Set(['restart', 'resume', 'remove'])
const NOTHING = [undefined]

export function createHandOnModel(steps: readonly Step[]): HandOnModel {
  const known = trackCanvases(steps)
  const callbackOwners = callbackOwnersIn(steps)
  const sources = new Map<number, Source>(
    steps.flatMap(step => (step.do === 'publish-canvas' ? [...sourcesIn(step.composition)] : [])),
  )
  const pasts = new Map<string, Past>()
  const members = new Map<string, string>()
  const neverPublished = new Set<string>()
  const pastOf = (id = ''): Past => {
    const past = pasts.get(id) ?? { results: [], isRestarted: false }
    pasts.set(id, past)
    return past
  }

  const expectedOfMember = ({ member }: Task, nonce: number): readonly unknown[] | undefined => {
    const source = sources.get(nonce)
    if (!member || !source) return NOTHING
    const idOf = (one: number) => members.get(`${member.born} ${one}`)
    if (jobsIn(source.of).some(job => pastOf(idOf(job.nonce)).isRestarted)) return undefined
    if (source.kind === 'value') return [partValue(source.of, one => pastOf(idOf(one)).results[0] ?? null)]
    const { ends } = known.named(member.canvasId, member.born) ?? {}
    return [{ taskId: idOf((ends && failure(source.of, ends)) ?? Number.NaN) }]
  }

  return {
    see: (before, after) => {
      known.see(before, after)
      const nonce = nonceOf(after)
      if (after.member && nonce !== undefined) members.set(`${after.member.born} ${nonce}`, after.id)
      const past = pastOf(after.id)
      if (RESTARTING.has(after.operation)) past.isRestarted = true
      if (isCancelledUnpublished(before, after)) neverPublished.add(after.id)
      const isDone = after.state === 'succeeded' && before?.state !== 'succeeded'
      if (isDone) past.results.push(resultIn(after) ?? null)
    },
    expected: (task, { nonce, immutable, key }) => {
      // A callback with a key of its own may find a task with a value of its own.
      if (neverPublished.has(task.id) || key !== undefined) return undefined
      if (immutable) return NOTHING
      const when = callbackOwners.get(nonce)?.when
      if (when === 'onError') return [{ taskId: task.parentId }]
      if (when === 'onSuccess') return pastOf(task.parentId).results.map(result => result ?? undefined)
      return expectedOfMember(task, nonce)
    },
  }
}
