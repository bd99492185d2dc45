import { problemText } from '../api/baton.ts'
import { renew } from '../api/queries.ts'
import { createStore, useStore } from '../api/store.ts'
import { Button } from '../parts/controls.tsx'
import { counted, number } from '../parts/format.ts'
import { Name, useNow } from '../parts/text.tsx'

/**
 * The same action on many tasks, one request each. It waits for some seconds before it begins, because some actions cannot be taken
 * back. It continues while the reader looks at other pages, and can be stopped between two tasks.
 */

/** Shows how far an action on many tasks is, on every page. */
export function BulkProgress() {
  const present = useStore(bulk)
  return present ? <Progress bulk={present} /> : null
}

function Progress({ bulk: present }: { readonly bulk: Bulk }) {
  const now = useNow(250)
  const { state, total, done, problems } = present
  const isUnderWay = state === 'waiting' || state === 'running'
  return (
    <section className="bulk-progress" aria-label="Progress">
      <p role="status">{textOf(present, now)}</p>
      {total !== undefined && state !== 'waiting' && (
        <progress
          value={done + problems.length}
          max={Math.max(1, total)}
          aria-label={`${done} of ${total}`}
        />
      )}
      {problems.length > 0 && <Problems problems={problems} />}
      {isUnderWay ? (
        <Button text={state === 'waiting' ? 'Undo' : 'Stop'} onClick={stopBulk} />
      ) : (
        <Button text="Close" onClick={() => bulk.set(undefined)} />
      )}
    </section>
  )
}

function textOf({ verb, total, done, state, startsAt, problems }: Bulk, now: number): string {
  const tasks = total === undefined ? 'all matching tasks' : counted(total, 'task')
  if (state === 'waiting') return `${verb} ${tasks} in ${Math.max(0, Math.ceil((startsAt - now) / 1_000))} s`
  const refused = problems.length > 0 ? `, ${number(problems.length)} refused` : ''
  const of = total === undefined ? '' : ` of ${number(total)}`
  const begin = state === 'stopped' ? `${verb} was stopped after` : `${verb}:`
  return `${begin} ${number(done)}${of} done${refused}`
}

function Problems({ problems }: Pick<Bulk, 'problems'>) {
  return (
    <details className="bulk-problems">
      <summary>{counted(problems.length, 'task')} refused</summary>
      <ul>
        {problems.map(({ id, text }) => (
          <li key={id}>
            <Name>{id}</Name>
            <bdi className="soft">{text}</bdi>
          </li>
        ))}
      </ul>
    </details>
  )
}

type Bulk = {
  /** The verb, such as `Cancel`. */
  readonly verb: string
  /** How many tasks there are; undefined while they are still being listed. */
  readonly total: number | undefined
  readonly done: number
  readonly problems: ReadonlyArray<{ readonly id: string; readonly text: string }>
  readonly state: 'waiting' | 'running' | 'stopped' | 'ended'
  /** When it begins, in milliseconds since the epoch. */
  readonly startsAt: number
}

const bulk = createStore<Bulk | undefined>(undefined)

const UNDO_MS = 5_000
const AT_A_TIME = 4
const PROBLEMS_MAX = 100

let stopping = new AbortController()

/** A task that is acted on. With a revision, the API refuses the action when a person has changed the task since. */
export type BulkTask = { readonly id: string; readonly revision?: number }

export type BulkAction = {
  readonly verb: string
  /** The tasks, or their list page by page. */
  readonly tasks: readonly BulkTask[] | AsyncIterable<BulkTask>
  readonly run: (id: string, expected: { readonly ifRevision?: number }) => Promise<unknown>
  /** Whether the action can be taken back, so that it need not wait. */
  readonly isHarmless: boolean
}

/** Begins an action unless another one is under way. */
export async function startBulk({ verb, tasks, run, isHarmless }: BulkAction): Promise<void> {
  const present = bulk.get()?.state
  if (present === 'waiting' || present === 'running') return
  stopping = new AbortController()
  const { signal } = stopping
  const total = Array.isArray(tasks) ? tasks.length : undefined
  const waitMs = isHarmless ? 0 : UNDO_MS
  bulk.set({ verb, total, done: 0, problems: [], state: 'waiting', startsAt: Date.now() + waitMs })
  await new Promise(resolve => setTimeout(resolve, waitMs))
  if (signal.aborted) return
  change({ state: 'running' })
  await runAll({ tasks, run, signal })
  if (!signal.aborted)
    change({ state: 'ended', total: (bulk.get()?.done ?? 0) + (bulk.get()?.problems.length ?? 0) })
  for (const key of [['tasks'], ['counts'], ['failures']]) renew(key)
}

/** Stops the action before its next task. What is done stays done. */
function stopBulk(): void {
  stopping.abort()
  const present = bulk.get()
  if (present?.state === 'waiting') bulk.set(undefined)
  else change({ state: 'stopped' })
}

function change(next: Partial<Bulk>): void {
  const present = bulk.get()
  if (present) bulk.set({ ...present, ...next })
}

type Running = Pick<BulkAction, 'tasks' | 'run'> & { readonly signal: AbortSignal }

async function runAll({ tasks, run, signal }: Running): Promise<void> {
  const under = new Set<Promise<void>>()
  try {
    for await (const task of tasks) {
      if (signal.aborted) break
      const one = runOne(task, run).finally(() => under.delete(one))
      under.add(one)
      if (under.size >= AT_A_TIME) await Promise.race(under)
    }
  } catch (error) {
    addProblem('the list', error)
  }
  await Promise.all(under)
}

async function runOne({ id, revision }: BulkTask, run: BulkAction['run']): Promise<void> {
  try {
    await run(id, revision === undefined ? {} : { ifRevision: revision })
    change({ done: (bulk.get()?.done ?? 0) + 1 })
  } catch (error) {
    addProblem(id, error)
  }
}

function addProblem(id: string, error: unknown): void {
  const problems = bulk.get()?.problems ?? []
  change({ problems: [...problems, { id, text: problemText(error) }].slice(-PROBLEMS_MAX) })
}
