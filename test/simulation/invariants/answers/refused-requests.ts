import type { HistoryEvent } from '../../world/history.ts'
import type { Invariant } from '../invariant.ts'

type Checked = Extract<HistoryEvent, { readonly what: 'checked' }>

/** Promises about requests at the bounds of the API. */
export const REFUSED_REQUEST_INVARIANTS: readonly Invariant[] = [
  onChecks('a request at the bounds is accepted', ({ request: { refused }, problems: [problem] }) =>
    refused === undefined ? problem && `${problem.path} ${problem.message}` : undefined,
  ),
  onChecks('a request beyond a bound is refused, and the answer names the field', ({ request, problems }) => {
    const { refused } = request
    if (refused === undefined || problems.some(({ path }) => path === refused)) return undefined
    return `${refused} is not refused, but ${JSON.stringify(problems.map(({ path }) => path)).slice(0, 200)}`
  }),
  onChecks('the answer about a wrong field says what is wrong', ({ request, problems }) => {
    const { refused, says, neverSays } = request
    const about = problems.find(({ path }) => path === refused)?.message ?? ''
    if (says !== undefined && !about.includes(says)) return `the answer lacks "${says}": ${about}`
    return neverSays !== undefined && about.includes(neverSays)
      ? `the answer says "${neverSays}": ${about}`
      : undefined
  }),
  onChecks('the published schema accepts the requests that the API accepts', ({ request, fitsSchema }) =>
    request.refused === undefined && fitsSchema === false ? 'the schema refuses it' : undefined,
  ),
  onChecks('the published schema refuses a request that is beyond a bound', ({ request, fitsSchema }) =>
    request.isInSchema && fitsSchema === true ? `the schema accepts ${request.refused}` : undefined,
  ),
]

function onChecks(name: string, judge: (checked: Checked) => string | undefined): Invariant {
  return {
    name,
    watch: () => ({
      on: event => {
        const wrong = event.what === 'checked' ? judge(event) : undefined
        return wrong && event.what === 'checked'
          ? `${event.request.kind} ${JSON.stringify(event.request.body)?.slice(0, 200)}: ${wrong}`
          : undefined
      },
    }),
  }
}
