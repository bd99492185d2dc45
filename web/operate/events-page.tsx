import { Pause, Play } from 'lucide-react'
import { useMemo, useState } from 'react'
import type { ApiEvent } from '../../shared/api/events.ts'
import { connection, eventLog, isStreamForbidden, useStore } from '../api/store.ts'
import { Button } from '../parts/controls.tsx'
import { cut, hasWords, type Status, toneOf, visible } from '../parts/format.ts'
import { Card, Empty, Page, Unsigned } from '../parts/page.tsx'
import { Dotted, IdLink, Name, When } from '../parts/text.tsx'

const SHOWN_MAX = 200
const ERROR_CHARACTERS = 160

/** The events as they happen, newest first. A pause holds the picture still; no event is missed meanwhile. */
export function EventsPage() {
  const events = useStore(eventLog)
  const isPolling = useStore(connection) === 'polling'
  const isForbidden = useStore(isStreamForbidden)
  const [held, setHeld] = useState<readonly ApiEvent[]>()
  const [text, setText] = useState('')
  const shown = useMemo(() => matching(held ?? events, text), [held, events, text])
  return (
    <Page
      title="Events"
      actions={
        <>
          <input
            type="search"
            data-search
            className="event-filter"
            aria-label="Show only events that contain this text"
            placeholder="Filter"
            value={text}
            onChange={event => setText(event.target.value)}
          />
          <Button
            icon={held ? Play : Pause}
            text={held ? 'Continue' : 'Pause'}
            onClick={() => setHeld(held ? undefined : events)}
          />
        </>
      }
    >
      {isForbidden && <Unsigned />}
      {isPolling && !isForbidden && (
        <Empty title="This system has no event stream">
          A deployed system sends its events to EventBridge.
        </Empty>
      )}
      {!isPolling && !isForbidden && shown.length === 0 && (
        <Empty title={text === '' ? 'Nothing has happened yet' : 'No event matches'}>
          Events appear here as they happen, from the moment at which this page was opened.
        </Empty>
      )}
      {shown.length > 0 && (
        <Card>
          <ol className="event-list" aria-label="Events">
            {shown.map(event => (
              <EventRow key={event.id} event={event} />
            ))}
          </ol>
        </Card>
      )}
    </Page>
  )
}

function matching(events: readonly ApiEvent[], text: string): readonly ApiEvent[] {
  const fits = ({ type, taskId = '', workerId = '', error }: ApiEvent) =>
    hasWords(`${type} ${taskId} ${workerId} ${error?.message ?? ''}`, text)
  return events.filter(fits).slice(0, SHOWN_MAX)
}

function EventRow({ event: { type, at, taskId, workerId, error, status } }: { readonly event: ApiEvent }) {
  return (
    <li>
      <span className="faint">
        <When at={at} as="local" />
      </span>
      <Dotted tone={status ? toneOf(status as Status) : 'idle'}>{type}</Dotted>
      <span className="cut">{taskId !== undefined && subjectOf(taskId, type)}</span>
      <span className="soft cut">
        {error ? (
          <bdi>{cut(visible(error.message), ERROR_CHARACTERS)}</bdi>
        ) : (
          workerId && <Name>{workerId}</Name>
        )}
      </span>
    </li>
  )
}

function subjectOf(id: string, type: string) {
  if (type.startsWith('schedule.')) return <Name>{id}</Name>
  return <IdLink to={type.startsWith('canvas.') ? '/canvases/$id' : '/tasks/$id'} id={id} />
}
