import { Link } from '@tanstack/react-router'
import { Check, Copy } from 'lucide-react'
import { type ReactNode, useEffect, useState } from 'react'
import type { ApiTask } from '../../shared/api/tasks.ts'
import { IconButton } from './controls.tsx'
import { cut, moment, reasonText, relative, STATUSES, type State, toneOf, visible } from './format.ts'

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

/** A time, as its distance from now. The whole time shows on hover. */
export function When({ at }: { readonly at: string | undefined }) {
  const now = useNow()
  if (at === undefined) return <span className="faint">–</span>
  return (
    <time dateTime={at} title={moment(at)}>
      {relative(at, now)}
    </time>
  )
}

const COPIED_MS = 1_500

export function CopyButton({ text, label }: { readonly text: string; readonly label: string }) {
  const [isCopied, setCopied] = useState(false)
  useEffect(() => {
    if (!isCopied) return
    const timer = setTimeout(setCopied, COPIED_MS, false)
    return () => clearTimeout(timer)
  }, [isCopied])
  const copy = () => void navigator.clipboard.writeText(text).then(() => setCopied(true))
  return (
    <IconButton icon={isCopied ? Check : Copy} label={`Copy ${label}`} title="Copy" onClick={copy}>
      <span className="visually-hidden" aria-live="polite">
        {isCopied ? 'Copied' : ''}
      </span>
    </IconButton>
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
