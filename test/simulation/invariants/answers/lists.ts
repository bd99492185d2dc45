import type { ApiCanvas } from '../../../../shared/api/canvases.ts'
import type { TypeCounts } from '../../../../shared/api/diagnosis/statistics.ts'
import type { ApiTask } from '../../../../shared/api/tasks.ts'
import type { Scenario } from '../../scenario.ts'
import type { SeenHead } from '../../world/seen-head.ts'
import type { Invariant } from '../invariant.ts'
import { statusesOf } from './shown-tasks.ts'
import { clockErrorMs, sightingsOf, type Window } from './sightings.ts'
import { onAnswers, type Read } from './why.ts'

type Page = { readonly items: readonly ApiTask[]; readonly nextCursor?: string }
type Filter = {
  readonly type?: readonly string[]
  readonly status?: readonly string[]
  readonly userId?: string
}

/** A count of this number means so many tasks or more. */
const COUNTED_MAX = 1_000

/** Promises about lists and counts. A task that changes while it is listed may be listed or not. */
export const LIST_INVARIANTS: readonly Invariant[] = [
  onAnswers<Page>('a list has only tasks that fit its filter', 'list', ({ items }, read, scenario) => {
    const wrong = items.find(({ id }) => !fitsOf(id, read, scenario).some(fits => fits !== false))
    return wrong && `${wrong.id} is listed as one of ${JSON.stringify(read.query)}`
  }),
  onAnswers<Page>(
    'a list of one page has every task that fits its filter',
    'list',
    (page, read, scenario) => {
      // Lists leave out what cannot be read.
      if (page.nextCursor !== undefined || scenario.trial === 'faults') return undefined
      const listed = new Set(page.items.map(({ id }) => id))
      const missing = [...sightingsOf(scenario).ids()].find(
        id => !listed.has(id) && fitsOf(id, read, scenario).every(fits => fits === true),
      )
      return missing && `${missing} is missing in the list of ${JSON.stringify(read.query)}`
    },
  ),
  onAnswers<ApiCanvas>(
    'a canvas is shown with the statuses of its tasks',
    'getCanvas',
    (canvas, read, scenario) => {
      const { id, status, items } = canvas
      const waiting = items.find(({ status: own }) => own === 'pending')
      if (waiting && status !== 'running')
        return `${waiting.taskId} of ${id} is pending, though the canvas is ${status}`
      const wrong = items.find(task => !isPossibleMember(task, read, scenario))
      return wrong && `${wrong.taskId} of ${id} is shown as ${wrong.status}`
    },
  ),
  onAnswers<{ readonly items: readonly TypeCounts[] }>(
    'a type is shown with the numbers of its tasks',
    'listCounts',
    ({ items }, read, scenario) => {
      for (const { type, counts } of items) {
        for (const [status, count] of Object.entries(counts)) {
          const [least, most] = numbersOf({ type: [type], status: [status] }, read, scenario)
          if (count < Math.min(least, COUNTED_MAX) || count > most)
            return `${type} is said to have ${count} tasks that are ${status}, not ${least} to ${most}`
        }
      }
      return undefined
    },
  ),
]

/** Whether a member of a canvas has the shown status. One that is removed or was never published may be cancelled with its canvas. */
function isPossibleMember(
  { taskId, status }: ApiCanvas['items'][number],
  window: Window,
  scenario: Scenario,
): boolean {
  const heads = sightingsOf(scenario).heads(taskId, window)
  const isAbsent = heads.length === 0 || heads.some(head => !head || head.state === 'removed')
  if (['pending', 'skipped', 'cancelled'].includes(status) && isAbsent) return true
  return heads.some(head => head && statusesOf(head, window, clockErrorMs(scenario)).includes(status))
}

function numbersOf(query: Filter, window: Window, scenario: Scenario): [number, number] {
  const fits = [...sightingsOf(scenario).ids()].map(id => fitsOf(id, { ...window, query }, scenario))
  return [
    fits.filter(all => all.every(one => one === true)).length,
    fits.filter(all => all.includes(true) || all.includes('perhaps')).length,
  ]
}

/** Whether each head that a task had in the window fits the filter. `perhaps`: it depends on the moment. */
function fitsOf(
  id: string,
  read: Window & Pick<Read, 'query'>,
  scenario: Scenario,
): Array<boolean | 'perhaps'> {
  const fits = sightingsOf(scenario)
    .heads(id, read)
    .map(head => head !== undefined && fitsFilter(head, read.query as Filter, read, scenario))
  // A head without a sighting in the window does not exist.
  return fits.length > 0 ? fits : [false]
}

function isListedAtAll({ canvas, schedule, state }: SeenHead): boolean {
  return !canvas && !schedule && state !== 'removed'
}

function fitsFilter(
  head: SeenHead,
  { type, status, userId }: Filter,
  window: Window,
  scenario: Scenario,
): boolean | 'perhaps' {
  const isOfType = !type || type.includes(head.type)
  const isOfUser = userId === undefined || head.userId === userId
  if (!isListedAtAll(head) || !isOfType || !isOfUser) return false
  const errorMs = clockErrorMs(scenario)
  // An ended task that owes callbacks is listed among the open ones until they are published.
  const isExpiring = head.expiresAt !== undefined && head.expiresAt <= window.at + errorMs
  const isUncertain = isExpiring || head.owes === true
  if (!status) return isUncertain ? 'perhaps' : true
  const possible = statusesOf(head, window, errorMs)
  const fitting = possible.filter(one => status.includes(one))
  if (fitting.length === 0) return false
  return fitting.length < possible.length || isUncertain ? 'perhaps' : true
}
