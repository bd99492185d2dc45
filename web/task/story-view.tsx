import { useQuery } from '@tanstack/react-query'
import { Columns2 } from 'lucide-react'
import type { ApiTask } from '../../shared/api/tasks.ts'
import { logQuery, whyQuery } from '../api/queries.ts'
import { ticksOf, timeStepOf } from '../charts/ticks.ts'
import { Opener } from '../parts/controls.tsx'
import { duration, toneOf } from '../parts/format.ts'
import { Card, Facts } from '../parts/page.tsx'
import { IdLink, Name, StatusBadge, useNow, When } from '../parts/text.tsx'
import { CompareDialog } from './compare.tsx'
import { ErrorView, Folded, Plain } from './runs.tsx'
import { type Detail, type Entry, leaseEndOf, spanOf, storyOf } from './story.ts'

/** The time of an open task moves so often. */
const DRAW_MS = 500
const TICKS = 4

/** The story of a task: one list in order of time, with bars to scale. */
export function StoryCard({ task }: { readonly task: ApiTask }) {
  const now = useNow(DRAW_MS)
  const { data: why } = useQuery(whyQuery(task))
  const story = storyOf(task, now, why?.limit?.name)
  const { from, to } = spanOf(task, story)
  const place = (at: number) => `${(Math.min(1, Math.max(0, at - from) / (to - from)) * 100).toFixed(3)}%`
  const compare = (
    <Opener
      icon={Columns2}
      text="Compare attempts"
      dialog={close => <CompareDialog story={story} onClose={close} />}
    />
  )
  return (
    <Card title="Timeline" tools={task.runs.length > 1 && compare}>
      <div className="story-axis faint" aria-hidden>
        {ticksOf(0, to - from, timeStepOf(to - from, TICKS)).map(tick => (
          <span key={tick} style={{ left: place(from + tick) }}>
            {tick === 0 ? '0' : duration(tick)}
          </span>
        ))}
      </div>
      <ol className="story">
        {story.map(entry => (
          <EntryView key={entry.id} entry={entry} taskId={task.id} place={place} />
        ))}
      </ol>
    </Card>
  )
}

type EntryProps = {
  readonly entry: Entry
  readonly taskId: string
  /** Where a time is on the axis. */
  readonly place: (at: number) => string
}

function EntryView({ entry: { at, until, title, outcome, detail = {} }, taskId, place }: EntryProps) {
  const lease = leaseEndOf(detail)
  const bar = (kind: string, from: number, to: number) => (
    <span
      className="span"
      data-kind={kind}
      style={{ left: place(from), right: `calc(100% - ${place(to)})` }}
    />
  )
  return (
    <li className="entry" data-tone={outcome ? toneOf(outcome) : 'wait'}>
      <span className="soft">
        <When at={new Date(at).toISOString()} as="local" />
      </span>
      <div className="entry-head">
        <strong>{title}</strong>
        <Origin detail={detail} />
        {outcome && <StatusBadge state={outcome} />}
        {outcome && until !== undefined && <span className="soft">{duration(until - at)}</span>}
      </div>
      {until !== undefined && (
        <span className="entry-track" aria-hidden>
          {bar(outcome ? 'run' : 'wait', at, until)}
          {lease > until && bar('lease', until, lease)}
        </span>
      )}
      <div className="entry-body">
        <ErrorOf detail={detail} />
        {detail.callbackProblems && (
          <Facts rows={detail.callbackProblems.map(({ path, message }) => [path, message])} />
        )}
        {detail.progress !== undefined && <Folded title="Progress" value={detail.progress} />}
        <LogOf detail={detail} taskId={taskId} />
        {detail.result !== undefined && !detail.isResultShown && (
          <Folded title="Result" value={detail.result} />
        )}
      </div>
    </li>
  )
}

function Origin({ detail: { workerId, stage, by, taskId, canvasId } }: { readonly detail: Detail }) {
  return (
    <>
      {stage !== undefined && <Name mono={false}>{stage}</Name>}
      {by !== undefined && <Name mono={false}>{`by ${by}`}</Name>}
      {taskId !== undefined && <IdLink id={taskId} />}
      {canvasId !== undefined && <IdLink id={canvasId} to="/canvases/$id" />}
      {workerId !== undefined && <Name>{workerId}</Name>}
    </>
  )
}

function ErrorOf({ detail: { error, errorIsIn } }: { readonly detail: Detail }) {
  if (!error) return null
  if (errorIsIn === undefined) return <ErrorView error={error} />
  return (
    <p className="soft">
      <Name mono={false}>{error.name}</Name>: its text is {errorIsIn}.
    </p>
  )
}

/** The stored log of an ended run, or the log of a live run, which is read line by line. */
function LogOf({ detail: { id, state, log }, taskId }: { readonly detail: Detail; readonly taskId: string }) {
  const isLive = state === 'running'
  const { data } = useQuery({ ...logQuery(taskId), enabled: isLive })
  const lines = data?.lines.filter(({ runId }) => runId === id).map(({ text }) => text) ?? []
  const text = isLive || log === undefined ? lines.join('\n') : log
  if (text === '') return null
  return (
    <details open={isLive}>
      <summary>Log</summary>
      <Plain text={text} label={isLive ? 'Live log' : 'Log'} />
    </details>
  )
}
