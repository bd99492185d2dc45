import type { Body } from '../../../../shared/core/task/head-fields.ts'
import type { HistoryEvent } from '../../world/history.ts'
import type { SeenHead } from '../../world/seen-head.ts'
import type { Invariant } from '../invariant.ts'

/** Lambda delivers no answer with more bytes. */
const ANSWER_BYTES_MAX = 6_291_556
/** The input of a flow and the results of its steps together. */
const PARAMETERS_BYTES_MAX = 2 * 1_024 * 1_024

/** Promises about tasks that are large, or many at once. */
export const SIZE_INVARIANTS: readonly Invariant[] = [
  {
    name: 'every answer to a claim can be delivered',
    watch: () => ({
      on: event =>
        event.what === 'claimed' && event.bytes > ANSWER_BYTES_MAX
          ? `an answer with ${event.tasks} tasks has ${event.bytes} bytes`
          : undefined,
    }),
  },
  {
    name: 'the parameters of a flow have at most 2 MB',
    watch: ({ trial }) => ({
      on: event => {
        if (trial !== 'sizes' || event.what !== 'write') return undefined
        const bytes = parameterBytes(event.after)
        return bytes > PARAMETERS_BYTES_MAX ? `those of ${event.after.id} have ${bytes} bytes` : undefined
      },
    }),
  },
  {
    name: 'a result of a step is refused only if the flow has no room for it',
    watch: ({ trial }) => {
      const used = new Map<string, number>()
      return {
        on: event => {
          if (trial !== 'sizes') return undefined
          if (event.what === 'write') used.set(event.after.id, parameterBytes(event.after))
          if (event.what !== 'report-answer' || event.refused !== 'no-room') return undefined
          const bytes = (used.get(event.id) ?? 0) + resultBytes(event)
          return bytes > PARAMETERS_BYTES_MAX
            ? undefined
            : `a result of ${event.id} would make ${bytes} bytes`
        },
      }
    },
  },
  {
    name: 'no claim is given back that its worker has not seen',
    watch: ({ trial }) => {
      const begun = new Set<string>()
      return {
        on: event => {
          if (trial !== 'sizes') return undefined
          if (event.what === 'began') begun.add(`${event.id} ${event.fence}`)
          if (event.what !== 'write') return undefined
          const { before, after } = event
          const unseen = Object.values(after.ended).find(
            ({ fence, state }) =>
              state === 'released' && before?.live[fence] && !begun.has(`${after.id} ${fence}`),
          )
          return unseen && `run ${unseen.fence} of ${after.id} was given back`
        },
      }
    },
  },
]

function resultBytes({ reported }: Extract<HistoryEvent, { readonly what: 'report-answer' }>): number {
  const result = reported !== 'beat' && reported.outcome === 'succeed' ? reported.result : undefined
  return (JSON.stringify(result) ?? '').length
}

function parameterBytes({ input, flow }: SeenHead): number {
  if (!flow) return 0
  const all = [input, ...Object.values(flow.steps).map(({ result }) => result)]
  return all.reduce((bytes, body) => bytes + bytesOf(body), 0)
}

function bytesOf(body: Body | undefined): number {
  if (body === undefined) return 0
  return 'ref' in body ? body.bytes : JSON.stringify(body.inline).length
}
