import type { Composition } from '../../shared/core/canvas/tree.ts'
import type { Callbacks, Job, Script, Step } from './scenario.ts'

/** Every job in the steps, with callbacks of callbacks. */
export function allJobs(steps: readonly Step[]): Job[] {
  return steps.flatMap(step => {
    if (step.do === 'publish') return callbacksIn(step).flatMap(withCallbacks)
    if (step.do === 'put-schedule') return withCallbacks(step.job)
    return step.do === 'publish-canvas' ? jobsIn(step.composition).flatMap(withCallbacks) : []
  })
}

/** The scripts of every task that the steps publish. */
export function allScripts(steps: readonly Step[]): Script[] {
  return [...steps.filter(step => step.do === 'publish'), ...allJobs(steps)]
}

function withCallbacks(job: Job): Job[] {
  return [job, ...callbacksIn(job).flatMap(withCallbacks)]
}

/** The callbacks of one task, without the callbacks of those. */
export function callbacksIn({ onSuccess = [], onError = [] }: Callbacks): Job[] {
  return [...onSuccess, ...onError]
}

/** The leaves of a canvas, in the order in which the request lists them. */
export function jobsIn(part: Composition<Job>): Job[] {
  if ('leaf' in part) return [part.leaf]
  if ('chain' in part) return part.chain.flatMap(jobsIn)
  if ('group' in part) return part.group.flatMap(jobsIn)
  const { group, then, onError } = part.chord
  return [...group, then, ...(onError ? [onError] : [])].flatMap(jobsIn)
}
