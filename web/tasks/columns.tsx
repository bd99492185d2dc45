import type { ReactNode } from 'react'
import type { ApiTask } from '../../shared/api/tasks.ts'
import { counted, cut, duration, number, reasonText, visible } from '../parts/format.ts'
import { Name, useNow, When } from '../parts/text.tsx'
import type { ColumnName } from './filter.ts'

type TaskColumn = {
  readonly title: string
  /** The width in the grid of the rows. */
  readonly width: string
  readonly look?: string
  readonly cell: (task: ApiTask) => ReactNode
}

export const COLUMNS: Readonly<Record<ColumnName, TaskColumn>> = {
  state: {
    title: 'Waits for, or ended by',
    width: 'minmax(0, 2.2fr)',
    cell: task => <Situation task={task} />,
  },
  user: {
    title: 'User',
    width: 'minmax(0, 0.8fr)',
    cell: ({ userId }) => userId !== undefined && <Name mono={false}>{userId}</Name>,
  },
  tags: {
    title: 'Tags',
    width: 'minmax(0, 1fr)',
    cell: ({ tags = {} }) =>
      Object.entries(tags).map(([name, value]) => <Name key={name} mono={false}>{`${name}:${value}`}</Name>),
  },
  runs: { title: 'Runs', width: '48px', look: 'number', cell: ({ attempts }) => number(attempts.used) },
  created: {
    title: 'Published',
    width: '100px',
    look: 'number',
    cell: ({ createdAt }) => <When at={createdAt} />,
  },
  when: {
    title: 'Due or ended',
    width: '100px',
    look: 'number',
    cell: ({ finishedAt, dueAt }) => <When at={finishedAt ?? dueAt} />,
  },
}

const SITUATION_CHARACTERS_MAX = 300

/** What helps to know about a task at a glance: why and since when it waits, on which worker it runs, or why it failed; and how long that took. */
function Situation({ task }: { readonly task: ApiTask }) {
  const now = useNow()
  const { took, text } = situationOf(task, now)
  return (
    <>
      {took !== undefined && <span className="took">{duration(took)}</span>}{' '}
      {text !== undefined && (
        <bdi dir="auto" title={text}>
          {text}
        </bdi>
      )}
    </>
  )
}

type Situation = { readonly took?: number | undefined; readonly text?: string | undefined }

function situationOf(task: ApiTask, now: number): Situation {
  const { status, startedAt, finishedAt, runs, step } = task
  const error = errorText(task.error)
  if (finishedAt !== undefined) return { took: since(startedAt, Date.parse(finishedAt)), text: error }
  if (status === 'compensating') return { text: error ?? `undoes ${step ?? 'its steps'}` }
  if (status !== 'running') return waitOf(task, now)
  const [first, ...others] = runs.filter(({ state }) => state === 'running')
  const workers = others.length > 0 ? counted(others.length + 1, 'worker') : (first?.workerId ?? 'a worker')
  return { took: since(first?.startedAt, now), text: `on ${visible(workers)}` }
}

/** A ready task waits since it was due. The column of times says when a delayed one is due. */
function waitOf({ status, statusReason, dueAt, history }: ApiTask, now: number): Situation {
  const reason = statusReason ? reasonText(statusReason) : 'waits to be claimed'
  const last = statusReason === 'retry' ? errorText(history.at(-1)?.error) : undefined
  const text = last === undefined ? reason : `${reason} after ${last}`
  return { took: status === 'ready' ? since(dueAt, now) : undefined, text }
}

function since(at: string | undefined, until: number): number | undefined {
  return at === undefined ? undefined : Math.max(0, until - Date.parse(at))
}

function errorText(error: ApiTask['error']): string | undefined {
  return error && cut(visible(`${error.name}: ${error.message}`), SITUATION_CHARACTERS_MAX)
}
