import type { ApiTask } from '../../shared/api/tasks.ts'
import { clockTime, duration, toneOf } from '../parts/format.ts'
import { Name, useNow } from '../parts/text.tsx'
import { type Lane, type Span, type Timeline, ticksOf, timelineOf } from './timeline.ts'

const LANES_MAX = 60
/** The time of an open task moves so often. */
const DRAW_MS = 500

/** The runs of a task and the waits between them, to scale. */
export function TimelineView({ task }: { readonly task: ApiTask }) {
  const now = useNow(DRAW_MS)
  const timeline = timelineOf(task, now)
  const [waits, ...runs] = timeline.lanes
  return (
    <div className="timeline">
      <Axis timeline={timeline} />
      <ol>
        {waits && <LaneView lane={waits} timeline={timeline} />}
        {runs.slice(-LANES_MAX).map(lane => (
          <LaneView key={lane.run?.id} lane={lane} timeline={timeline} />
        ))}
      </ol>
      {runs.length > LANES_MAX && (
        <p className="faint">
          The last {LANES_MAX} of {runs.length} runs are shown.
        </p>
      )}
    </div>
  )
}

function Axis({ timeline }: { readonly timeline: Timeline }) {
  const length = timeline.to - timeline.from
  return (
    <div className="timeline-axis" aria-hidden>
      {ticksOf(timeline).map(tick => (
        <span key={tick} className="timeline-tick" style={{ left: percent(tick, length) }}>
          {tick === 0 ? '0' : duration(tick)}
        </span>
      ))}
    </div>
  )
}

function LaneView({ lane, timeline }: { readonly lane: Lane; readonly timeline: Timeline }) {
  const { run, state, spans } = lane
  const tone = state === 'wait' ? 'wait' : toneOf(state)
  const length = spans
    .filter(({ kind }) => kind !== 'lease')
    .reduce((sum, { from, to }) => sum + to - from, 0)
  return (
    <li className="lane">
      <span className="lane-name cut">
        {run ? (
          <>
            {run.stage !== undefined && <Name mono={false}>{run.stage}</Name>} <Name>{run.workerId}</Name>
          </>
        ) : (
          'waiting'
        )}
      </span>
      <span className="lane-track">
        {spans.map(span => (
          <span
            key={`${span.kind} ${span.from}`}
            className="span"
            data-kind={span.kind}
            data-tone={tone}
            title={titleOf(span)}
            style={{
              left: percent(span.from - timeline.from, timeline.to - timeline.from),
              width: percent(span.to - span.from, timeline.to - timeline.from),
            }}
          />
        ))}
      </span>
      <span className="lane-end" data-tone={tone}>
        <span className="lane-state">{run ? state : ''}</span>{' '}
        <span className="soft">{duration(length)}</span>
      </span>
    </li>
  )
}

function titleOf({ kind, from, to }: Span): string {
  const [begin, end] = [from, to].map(at => clockTime(new Date(at).toISOString()))
  const what = kind === 'lease' ? 'lease' : kind === 'run' ? 'ran' : 'waited'
  return `${what} ${begin} – ${end} (${duration(to - from)})`
}

function percent(part: number, whole: number): string {
  return `${((part / Math.max(1, whole)) * 100).toFixed(3)}%`
}
