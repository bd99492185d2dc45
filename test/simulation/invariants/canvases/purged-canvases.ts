import { jobsIn } from '../../jobs-in.ts'
import type { Job, Step } from '../../scenario.ts'
import type { Invariant } from '../invariant.ts'
import { type End, standingOf } from './canvas-model.ts'

/** Promises about canvases whose members are purged. */
export const PURGED_CANVAS_INVARIANTS: readonly Invariant[] = [
  {
    name: 'a purge of ended tasks does not change how an open canvas ends',
    watch: ({ trial, steps }) => {
      if (trial !== 'purged-canvases') return {}
      return {
        atEnd: heads => {
          for (const step of steps) {
            if (step.do !== 'publish-canvas') continue
            const head = heads.find(({ id }) => id === `canvas:${step.canvas}`)
            const expected = scriptedEnd(step)
            if (head && head.state !== expected)
              return `${head.id} has ${head.state}, but by its acts it ends as ${expected}`
          }
          return undefined
        },
      }
    },
  },
]

/** How a canvas ends by what its members do. */
function scriptedEnd({ composition }: Extract<Step, { readonly do: 'publish-canvas' }>): End | 'open' {
  const ends = new Map(jobsIn(composition).map(job => [job.nonce, endOf(job)]))
  return standingOf(composition, ends)
}

function endOf({ acts }: Job): End {
  return acts.some(({ end }) => end === 'fatal') ? 'failed' : 'succeeded'
}
