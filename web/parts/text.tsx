import { Link } from '@tanstack/react-router'
import { Copy } from 'lucide-react'
import { type ReactNode, useEffect, useRef, useState } from 'react'
import type { ApiTask } from '../../shared/api/tasks.ts'
import { copyText, IconButton } from './controls.tsx'
import {
  cut,
  exactTime,
  localTime,
  reasonText,
  relative,
  STATUSES,
  type State,
  toneOf,
  visible,
  withButtons,
} from './format.ts'

/** Texts that tasks bring with them, and their states. The texts are shown as text only, isolated from the text around them. */

const NAME_CHARACTERS_MAX = 240

/** An id, a key or another name on one line. */
export function Name({ children, mono = true }: { readonly children: string; readonly mono?: boolean }) {
  const text = cut(visible(children), NAME_CHARACTERS_MAX)
  return (
    <bdi className={mono ? 'mono cut' : 'cut'} dir="auto" title={text}>
      {text}
    </bdi>
  )
}

type IdLinkProps = { readonly id: string; readonly to?: '/tasks/$id' | '/canvases/$id' }

/** The id of a task or of a canvas, which leads to its page. */
export function IdLink({ id, to = '/tasks/$id' }: IdLinkProps) {
  return (
    <Link to={to} params={{ id }} search={{}} className="cut">
      <Name>{id}</Name>
    </Link>
  )
}

/** The name of a type, which leads to its page. */
export function TypeLink({ type, className }: { readonly type: string; readonly className?: string }) {
  return (
    <Link to="/types/$type" params={{ type }} className={className}>
      <Name mono={false}>{type}</Name>
    </Link>
  )
}

/** The title of the page of a task or a canvas: a name and the button that copies the whole id. */
export function IdHeading({ id, name = id }: { readonly id: string; readonly name?: string }) {
  return (
    <span className="heading-id">
      <Name>{name}</Name>
      <CopyButton text={id} label="id" />
    </span>
  )
}

type Holder = { readonly taskId: string; readonly since: string }

/** The tasks that hold the permits of a limit. */
export function Holders({ holders, look }: { readonly holders: readonly Holder[]; readonly look: string }) {
  return (
    <ul className={look}>
      {holders.map(({ taskId, since }) => (
        <li key={taskId}>
          <IdLink id={taskId} />{' '}
          <span className="faint">
            <When at={since} />
          </span>
        </li>
      ))}
    </ul>
  )
}

type WhenProps = {
  readonly at: string | undefined
  /** What shows: the distance from now, the local time, or both. */
  readonly as?: 'distance' | 'local' | 'both'
}

/** A time. The exact time, local and UTC, shows on hover and on focus; a press copies it in UTC. */
export function When({ at, as = 'distance' }: WhenProps) {
  const now = useNow()
  const hint = useRef<HTMLSpanElement>(null)
  if (at === undefined) return <span className="faint">–</span>
  const exact = exactTime(at)
  const [distance, local] = [relative(at, now), localTime(at, now)]
  return (
    <button
      type="button"
      className="when"
      title={exact}
      onFocus={({ currentTarget: source }) => hint.current?.showPopover({ source })}
      onBlur={() => hint.current?.hidePopover()}
      onClick={event => {
        // The row around it does not open.
        event.stopPropagation()
        void copyText(new Date(at).toISOString())
      }}
    >
      <time dateTime={at}>
        {as === 'distance' ? distance : as === 'local' ? local : `${local} (${distance})`}
      </time>
      <span ref={hint} popover="manual" className="exact-time">
        {exact}
      </span>
    </button>
  )
}

/** How the API writes a time in a sentence. Its distance from now is as old as the answer. */
const TIME_IN_SENTENCE = /(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) UTC \([^()]*\)/

function Sentence({ children }: { readonly children: string }) {
  return visible(children)
    .split(TIME_IN_SENTENCE)
    .map((part, index) =>
      // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a sentence have no other name
      index % 2 === 0 ? part : <When key={index} at={`${part.replace(' ', 'T')}Z`} as="both" />,
    )
}

type Explanation = { readonly sentence: string; readonly next: string }

/** Two sentences of the API: why a thing is as it is, and what can be done. */
export function Explained({ of: { sentence, next } }: { readonly of: Explanation }) {
  return (
    <>
      <p>
        <Sentence>{sentence}</Sentence>
      </p>
      <p className="soft">
        <Sentence>{withButtons(next)}</Sentence>
      </p>
    </>
  )
}

export function CopyButton({ text, label }: { readonly text: string; readonly label: string }) {
  return (
    <IconButton
      icon={Copy}
      label={`Copy ${label}`}
      title="Copy"
      onClick={() => void copyText(text, `the ${label}`)}
    />
  )
}

/** The time, renewed at this pace while the tab is visible. */
export function useNow(everyMs = 1_000): number {
  const [now, setNow] = useState(() => Date.now())
  useEffect(() => {
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') setNow(Date.now())
    }, everyMs)
    return () => clearInterval(timer)
  }, [everyMs])
  return now
}

const SETTLED_MS = 250

/** The value, once it has not changed for a moment. */
export function useSettled<Value>(value: Value): Value {
  const [settled, setSettled] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(() => value), SETTLED_MS)
    return () => clearTimeout(timer)
  }, [value])
  return settled
}

type DottedProps = { readonly tone: string; readonly look?: string; readonly children?: ReactNode }

/** A dot in one of the six colours, and the text next to it. */
export function Dotted({ tone, look = 'status', children }: DottedProps) {
  return (
    <span className={look} data-tone={tone}>
      <span className="dot" aria-hidden />
      {children}
    </span>
  )
}

type BadgeProps = { readonly state: State; readonly reason?: ApiTask['statusReason'] }

export function StatusBadge({ state, reason }: BadgeProps) {
  return (
    <Dotted tone={toneOf(state)}>
      {state}
      {reason && <span className="status-reason cut">{reasonText(reason)}</span>}
    </Dotted>
  )
}

/** What a tile shows: a status, and how many tasks have it. */
export function TileText({ status, count }: { readonly status: State; readonly count: string }) {
  return (
    <>
      <Dotted tone={toneOf(status)} look="status soft">
        {status}
      </Dotted>
      <strong>{count}</strong>
    </>
  )
}

type Status = (typeof STATUSES)[number]
type StatusTilesProps = { readonly type?: string; readonly count: (status: Status) => string }

/** A tile for each status, which leads to the tasks of this status, of one type or of all types. */
export function StatusTiles({ type, count }: StatusTilesProps) {
  const ofType = type === undefined ? {} : { type: [type] }
  return (
    <div className="tiles">
      {STATUSES.map(status => (
        <Link key={status} className="tile" to="/tasks" search={{ ...ofType, status: [status] }}>
          <TileText status={status} count={count(status)} />
        </Link>
      ))}
    </div>
  )
}
