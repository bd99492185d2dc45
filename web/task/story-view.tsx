import { useQuery } from '@tanstack/react-query'
import { Columns2 } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import type { ApiTask } from '../../shared/api/tasks.ts'
import { logQuery, whyQuery } from '../api/queries.ts'
import { ticksOf, timeStepOf } from '../charts/ticks.ts'
import { Button, Opener } from '../parts/controls.tsx'
import { duration, toneOf } from '../parts/format.ts'
import { Card, Facts } from '../parts/page.tsx'
import { IdLink, Name, StatusBadge, useNow, When } from '../parts/text.tsx'
import { CompareDialog } from './compare.tsx'
import { ErrorView, Folded, Plain } from './runs.tsx'
import { type Detail, type Entry, spanOf, storyOf } from './story.ts'

/** The newest entries are shown at first. */
const SHOWN = 60
/** The time of an open task moves so often. */
const DRAW_MS = 500
const TICKS = 4

type Span = { readonly from: number; readonly to: number }

/** The story of a task: one list in order of time, with bars to scale. */
export function StoryCard({ task }: { readonly task: ApiTask }) {
  const now = useNow(DRAW_MS)
  const { data: why } = useQuery(whyQuery(task))
  const [isWhole, setWhole] = useState(false)
  const story = storyOf(task, now, why?.limit?.name)
  const shown = isWhole ? story : story.slice(-SHOWN)
  const span = spanOf(task, story)
  return (
    <Card
      title="Timeline"
      tools={
        task.runs.length > 1 && (
          <Opener
            icon={Columns2}
            text="Compare attempts"
            dialog={close => <CompareDialog story={story} onClose={close} />}
          />
        )
      }
    >
      {shown.length < story.length && (
        <div className="more">
          <Button text={`Show all ${story.length} entries`} onClick={() => setWhole(true)} />
        </div>
      )}
      <Axis span={span} />
      <ol className="story">
        {shown.map(entry => (
          <EntryView key={entry.id} entry={entry} span={span} taskId={task.id} />
        ))}
      </ol>
    </Card>
  )
}

function Axis({ span: { from, to } }: { readonly span: Span }) {
  const length = to - from
  return (
    <div className="story-axis faint" aria-hidden>
      {ticksOf(0, length, timeStepOf(length, TICKS)).map(tick => (
        <span key={tick} style={{ left: percent(tick, length) }}>
          {tick === 0 ? '0' : duration(tick)}
        </span>
      ))}
    </div>
  )
}

type EntryProps = { readonly entry: Entry; readonly span: Span; readonly taskId: string }

function EntryView({ entry, span, taskId }: EntryProps) {
  const { at, until, title, outcome, detail = {} } = entry
  return (
    <li className="entry" data-tone={outcome ? toneOf(outcome) : 'wait'}>
      <span className="soft">
        <When at={new Date(at).toISOString()} as="local" />
      </span>
      <div className="entry-head">
        <span>
          <strong>{title}</strong>
          {detail.stage !== undefined && (
            <>
              {' of '}
              <Name mono={false}>{detail.stage}</Name>
            </>
          )}
        </span>
        {outcome && <StatusBadge state={outcome} />}
        {outcome && until !== undefined && <span className="soft">{duration(until - at)}</span>}
        <Origin detail={detail} />
      </div>
      {until !== undefined && (
        <span className="entry-track" aria-hidden>
          <Bar kind={outcome ? 'run' : 'wait'} from={at} to={until} span={span} />
          {detail.leaseUntil !== undefined && (
            <Bar kind="lease" from={until} to={detail.leaseUntil} span={span} />
          )}
        </span>
      )}
      <Body detail={detail} taskId={taskId} isLive={outcome === 'running'} />
    </li>
  )
}

/** Who or what an entry comes from. */
function Origin({ detail: { workerId, by, taskId, canvasId } }: { readonly detail: Detail }) {
  return (
    <span className="soft cut">
      {workerId !== undefined && <Name>{workerId}</Name>}
      {by !== undefined && (
        <>
          by <Name mono={false}>{by}</Name>
        </>
      )}
      {taskId !== undefined && <IdLink id={taskId} />}
      {taskId === undefined && canvasId !== undefined && <IdLink id={canvasId} to="/canvases/$id" />}
    </span>
  )
}

type BarProps = { readonly kind: string; readonly from: number; readonly to: number; readonly span: Span }

function Bar({ kind, from, to, span }: BarProps): ReactNode {
  const [begin, length] = [Math.max(from, span.from), span.to - span.from]
  if (to < begin) return null
  const left = percent(begin - span.from, length)
  return <span className="span" data-kind={kind} style={{ left, width: percent(to - begin, length) }} />
}

function percent(part: number, whole: number): string {
  return `${((part / Math.max(1, whole)) * 100).toFixed(3)}%`
}

type BodyProps = { readonly detail: Detail; readonly taskId: string; readonly isLive: boolean }

function Body({ detail, taskId, isLive }: BodyProps) {
  const { error, errorIsIn, progress, result, runId, log, callbackProblems } = detail
  return (
    <div className="entry-body">
      {error && errorIsIn === undefined && <ErrorView error={error} />}
      {error && errorIsIn !== undefined && (
        <p className="soft">
          <Name mono={false}>{error.name}</Name>: its text is {errorIsIn}.
        </p>
      )}
      {callbackProblems && <Facts rows={callbackProblems.map(({ path, message }) => [path, message])} />}
      {progress !== undefined && <Folded title="Progress" value={progress} />}
      {runId !== undefined && <RunLog taskId={taskId} runId={runId} stored={log} isLive={isLive} />}
      {result !== undefined && <Folded title="Result" value={result} />}
    </div>
  )
}

type LogProps = {
  readonly taskId: string
  readonly runId: string
  /** The log that is stored with the run. A live one is read line by line instead. */
  readonly stored: string | undefined
  readonly isLive: boolean
}

function RunLog({ taskId, runId, stored, isLive }: LogProps) {
  const { data } = useQuery({ ...logQuery(taskId), enabled: isLive })
  const lines = data?.lines.filter(line => line.runId === runId).map(({ text }) => text) ?? []
  const text = isLive || stored === undefined ? lines.join('\n') : stored
  if (text === '') return null
  return (
    <details open={isLive}>
      <summary>Log</summary>
      <Plain text={text} label={isLive ? 'Live log' : 'Log'} />
    </details>
  )
}
