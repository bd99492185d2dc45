import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useEffect } from 'react'
import type { ApiBulk, BulkBody } from '../../shared/api/bulk.ts'
import { baton, problemText } from '../api/baton.ts'
import { bulkQuery, renew } from '../api/queries.ts'
import { createStore, useStore } from '../api/store.ts'
import { Button, tellProblem } from '../parts/controls.tsx'
import { counted, number } from '../parts/format.ts'
import { Failure } from '../parts/page.tsx'
import { IdHeading, Name, useNow } from '../parts/text.tsx'
import { ACTIONS, type Action, REASONS } from './actions.ts'

/**
 * The same action on many tasks. All tasks of a filter are one bulk operation of the server, which continues without this page. Ticked
 * tasks are one request each. An action cannot be taken back, so it waits for some seconds before it begins.
 */

/** What a reader must know before an action on many tasks. `onServer`: it is a bulk operation of the server. */
export function BulkNote({ onServer }: { readonly onServer: boolean }) {
  return (
    <p className="soft">
      {onServer && ON_SERVER} It begins after {UNDO_MS / 1_000} seconds, in which it can be undone.
    </p>
  )
}

const ON_SERVER =
  'The server does this, and continues when this page is closed. It leaves out tasks that an operator must decide about.'

type Bulk = {
  /** The verb, such as `Cancel`. */
  readonly verb: string
  /** How many tasks there are; undefined while the server has not read all of them. */
  readonly total: number | undefined
  readonly done: number
  readonly leftOut: number
  /** Why tasks were left out: a reason and how many, or the id of a task and its problem. */
  readonly reasons: ReadonlyArray<{ readonly name: string; readonly text: string }>
  readonly state: 'waiting' | 'running' | 'stopped' | 'ended'
  /** When it begins, in milliseconds since the epoch. */
  readonly startsAt: number
  /** The id of the bulk operation of the server, once it has begun. */
  readonly id?: string
}

const bulk = createStore<Bulk | undefined>(undefined)

export function BulkProgress() {
  const present = useStore(bulk)
  const { id = '' } = present ?? {}
  const { data, error } = useQuery({ ...bulkQuery(id), enabled: id !== '' })
  const isOver = data?.state === 'finished'
  useEffect(() => {
    if (isOver) renewTasks()
  }, [isOver])
  if (!present || id === '') return present && <Progress bulk={present} />
  const { done = 0, leftOut = {}, selected } = data ?? {}
  const reasons = Object.entries(leftOut).map(([reason, count]) => ({
    name: counted(count, 'task'),
    text: REASONS[reason] ?? reason,
  }))
  const sum = Object.values(leftOut).reduce((total, count) => total + count, 0)
  const state = isOver ? 'ended' : 'running'
  const total = isOver ? selected : undefined
  return (
    <Progress bulk={{ ...present, done, total, leftOut: sum, reasons, state }}>
      {error && !data ? <Failure error={error} /> : <IdHeading id={id} />}
    </Progress>
  )
}

function Progress({ bulk: present, children }: { readonly bulk: Bulk; readonly children?: ReactNode }) {
  const now = useNow(250)
  const { state, total, done, leftOut, reasons } = present
  // The server cannot be stopped. It alone has an unknown total while it works.
  const canStop = state === 'waiting' || (state === 'running' && total !== undefined)
  return (
    <section className="bulk-progress" aria-label="Progress">
      <p role="status">{textOf(present, now)}</p>
      {state !== 'waiting' && (
        <progress
          max={Math.max(1, total ?? 1)}
          aria-label={`${done} done`}
          {...(total !== undefined && { value: done + leftOut })}
        />
      )}
      {leftOut > 0 && (
        <details className="bulk-problems">
          <summary>{counted(leftOut, 'task')} left out</summary>
          <ul>
            {reasons.map(({ name, text }) => (
              <li key={`${name} ${text}`}>
                <Name>{name}</Name>
                <bdi className="soft">{text}</bdi>
              </li>
            ))}
          </ul>
        </details>
      )}
      {children}
      {canStop ? (
        <Button text={state === 'waiting' ? 'Undo' : 'Stop'} onClick={stopBulk} />
      ) : (
        <Button text="Close" onClick={() => bulk.set(undefined)} />
      )}
    </section>
  )
}

function textOf({ verb, id, total, done, state, startsAt, leftOut }: Bulk, now: number): string {
  const tasks = total === undefined ? 'all matching tasks' : counted(total, 'task')
  if (state === 'waiting') return `${verb} ${tasks} in ${Math.max(0, Math.ceil((startsAt - now) / 1_000))} s`
  const others = leftOut > 0 ? `, ${number(leftOut)} left out` : ''
  const of = total === undefined ? '' : ` of ${number(total)}`
  const begin = state === 'stopped' ? `${verb} was stopped after` : `${verb}:`
  const after =
    id !== undefined && state === 'running' ? '. The server continues when this page is closed.' : ''
  return `${begin} ${number(done)}${of} done${others}${after}`
}

const UNDO_MS = 5_000
const AT_A_TIME = 4
const REASONS_MAX = 100

let stopping = new AbortController()

/** Begins an action on tasks by their ids, or by a bulk operation of the server, unless this page works on another one. */
export async function startBulk({ name, verb }: Action, tasks: readonly string[] | BulkBody): Promise<void> {
  if (isBusy()) return
  stopping = new AbortController()
  const { signal } = stopping
  const total = 'action' in tasks ? undefined : tasks.length
  const startsAt = Date.now() + UNDO_MS
  bulk.set({ verb, total, done: 0, leftOut: 0, reasons: [], state: 'waiting', startsAt })
  await new Promise(resolve => setTimeout(resolve, UNDO_MS))
  if (signal.aborted) return
  change({ state: 'running' })
  if ('action' in tasks) await startOnServer(tasks)
  else await actOnEach(tasks, name === 'retry' ? retryUnlessUndecided : id => baton[name](id), signal)
}

async function startOnServer(body: BulkBody): Promise<void> {
  try {
    const { id } = await baton.startBulk(body)
    change({ id })
  } catch (error) {
    bulk.set(undefined)
    tellProblem(error)
  }
}

/** Retries a task as the page of the task would by its first button, unless a person must decide about it. */
async function retryUnlessUndecided(id: string): Promise<void> {
  const { needsAttention, revision } = await baton.get(id)
  if (needsAttention) throw new Error(NEEDS_ATTENTION)
  await baton.retry(id, { ifRevision: revision })
}

const NEEDS_ATTENTION = 'A person must decide about it: open it.'

/** Stops the action before its next tasks. What is done stays done. */
function stopBulk(): void {
  stopping.abort()
  if (bulk.get()?.state === 'waiting') bulk.set(undefined)
  else change({ state: 'stopped' })
}

export function showBulk({ id, action }: Pick<ApiBulk, 'id' | 'action'>): void {
  const verb = ACTIONS.find(({ name }) => name === action)?.verb ?? 'Replay'
  if (!isBusy())
    bulk.set({ verb, id, total: undefined, done: 0, leftOut: 0, reasons: [], state: 'running', startsAt: 0 })
}

async function actOnEach(ids: readonly string[], act: (id: string) => Promise<unknown>, signal: AbortSignal) {
  const problems: Array<{ name: string; text: string }> = []
  for (let from = 0; from < ids.length && !signal.aborted; from += AT_A_TIME) {
    const some = ids.slice(from, from + AT_A_TIME)
    await Promise.all(
      some.map(name => act(name).catch(error => problems.push({ name, text: problemText(error) }))),
    )
    const done = from + some.length - problems.length
    change({ done, leftOut: problems.length, reasons: problems.slice(-REASONS_MAX) })
  }
  if (!signal.aborted) change({ state: 'ended' })
  renewTasks()
}

/** Whether this page works on an action itself, or is about to begin one. */
function isBusy(): boolean {
  const { id, state } = bulk.get() ?? {}
  return id === undefined && (state === 'waiting' || state === 'running')
}

function change(next: Partial<Bulk>): void {
  const present = bulk.get()
  if (present) bulk.set({ ...present, ...next })
}

function renewTasks(): void {
  for (const key of [['tasks'], ['counts'], ['failures']]) renew(key)
}
