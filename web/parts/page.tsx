import { CircleAlert, Inbox, KeyRound, type LucideIcon } from 'lucide-react'
import { type ReactNode, useEffect } from 'react'
import type { ApiOperation } from '../../shared/api/scalars.ts'
import { ProblemError } from '../../shared/client/problem-error.ts'
import { isStatus, problemText } from '../api/baton.ts'
import { Acting, Button } from './controls.tsx'
import { operationText, visible } from './format.ts'
import { Name, When } from './text.tsx'

type PageProps = {
  readonly title: string
  /** What the page shows instead of the title, such as an id that can be copied. */
  readonly heading?: ReactNode
  readonly lead?: ReactNode
  readonly actions?: ReactNode
  readonly children: ReactNode
}

/** A page: its title, what can be done on it, and its content. */
export function Page({ title, heading, lead, actions, children }: PageProps) {
  useEffect(() => {
    document.title = `${visible(title)} · Baton`
  }, [title])
  return (
    <>
      <header className="page-head">
        <div className="page-title">
          <h1>{heading ?? <Name mono={false}>{title}</Name>}</h1>
          {lead && <div className="soft">{lead}</div>}
        </div>
        <Acting>{actions && <div className="page-actions">{actions}</div>}</Acting>
      </header>
      {children}
    </>
  )
}

type CardProps = { readonly title?: string; readonly tools?: ReactNode; readonly children: ReactNode }

export function Card({ title, tools, children }: CardProps) {
  return (
    <section className="card" aria-label={title}>
      {title && (
        <header className="card-head">
          <h2>{title}</h2>
          {tools}
        </header>
      )}
      {children}
    </section>
  )
}

/** Names with their values, one below the other. A value that is undefined is left out with its name. */
export function Facts({ rows }: { readonly rows: ReadonlyArray<readonly [string, ReactNode]> }) {
  return (
    <dl className="facts">
      {rows
        .filter(([, value]) => value !== undefined && value !== false && value !== '')
        .map(([name, value]) => (
          <div key={name} className="fact">
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  )
}

/** What has been asked of the API, as a page needs it. */
type Question<Data> = {
  readonly data: Data | undefined
  readonly error: unknown
  readonly refetch: () => unknown
}

type Answers<Questions> = {
  readonly [Name in keyof Questions]: Questions[Name] extends Question<infer Data>
    ? Exclude<Data, undefined>
    : never
}

/** Several questions as one. It is answered when each is, and fails when one fails that was never answered. */
export function combined<Questions extends Readonly<Record<string, Question<unknown>>>>(
  questions: Questions,
): Question<Answers<Questions>> {
  const all = Object.entries(questions)
  const failed = all.find(([, { error, data }]) => error && data === undefined)?.[1]
  const isWhole = all.every(([, { data }]) => data !== undefined)
  const answers = Object.fromEntries(all.map(([name, { data }]) => [name, data])) as Answers<Questions>
  return { data: isWhole ? answers : undefined, error: failed?.error, refetch: () => failed?.refetch() }
}

type AnswerProps<Data> = {
  readonly of: Question<Data>
  /** How many grey rows are shown until it arrives. */
  readonly rows?: number
  readonly children: (data: Data) => ReactNode
}

/** Shows an answer of the API. Until it arrives, grey rows or the reason for its absence are shown instead. */
export function Answer<Data>({ of: question, rows, children }: AnswerProps<Data>) {
  return question.data === undefined ? <Unanswered of={question} rows={rows} /> : children(question.data)
}

type UnansweredProps = {
  readonly of: Question<unknown>
  readonly rows?: number | undefined
  /** What is shown for a thing that does not exist. */
  readonly missing?: ReactNode
}

/** What is shown instead of an answer that is not there. */
export function Unanswered({ of: { error, refetch }, rows, missing }: UnansweredProps) {
  if (!error) return <Loading rows={rows} />
  return missing && isStatus(error, 404) ? missing : <Failure error={error} onRetry={refetch} />
}

export function Empty({ title, children }: { readonly title: string; readonly children?: ReactNode }) {
  return (
    <Note icon={Inbox} tone="faint" title={title}>
      {children && <div className="soft">{children}</div>}
    </Note>
  )
}

export function Failure({ error, onRetry }: { readonly error: unknown; readonly onRetry?: () => unknown }) {
  if (isStatus(error, 403) && !isExplained(error)) return <Unsigned />
  const isRefused = isExplained(error) && (isStatus(error, 401) || isStatus(error, 403))
  const { icon, tone, title, text } = isRefused
    ? { icon: KeyRound, tone: 'warn', title: error.problem.title, text: error.problem.detail }
    : { icon: CircleAlert, tone: 'bad', title: NOT_NOW, text: problemText(error) }
  return (
    <Note icon={icon} tone={tone} title={title}>
      <p className="soft isolated">{text}</p>
      {onRetry && <Button onClick={onRetry} text="Try again" />}
    </Note>
  )
}

const NOT_NOW = 'This cannot be shown at the moment'

/** Whether the answer itself says what is wrong. The dashboard of the command line adds that, because API Gateway only says «Forbidden». */
function isExplained(error: unknown): error is ProblemError {
  return error instanceof ProblemError && error.problem.type !== 'about:blank'
}

/** What a system answers that demands a signature with each request. A browser cannot sign, so a proxy on this machine does. */
export function Unsigned() {
  return (
    <Note icon={KeyRound} tone="warn" title="This system answers signed requests only">
      <p className="soft">
        A browser does not sign its requests. Open this page through the command line, which signs them with
        your own AWS credentials:
      </p>
      <p>
        <code className="mono command">npx baton dashboard --stack NAME</code>
      </p>
      <p className="faint">If you came that way, your credentials do not allow what this page asks.</p>
    </Note>
  )
}

type NoteProps = CardProps & { readonly title: string; readonly icon: LucideIcon; readonly tone: string }

/** An icon, a title and an explanation. A screen reader reads what went wrong. */
function Note({ icon: Icon, tone, title, children }: NoteProps) {
  return (
    <div className="note" role={tone === 'faint' ? undefined : 'alert'}>
      <Icon size={22} aria-hidden className={tone} />
      <p className="note-title isolated">{title}</p>
      {children}
    </div>
  )
}

/** Grey rows of the height of the content, so that nothing moves when it arrives. */
export function Loading({ rows = 6 }: { readonly rows?: number | undefined }) {
  return (
    <div className="loading" role="status" aria-label="Loading">
      {Array.from({ length: rows }, (_, row) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the rows are all alike
        <div key={row} className="loading-row" />
      ))}
    </div>
  )
}

type Operation = ApiOperation & { readonly subject?: string }
type Changed = { readonly operations?: readonly Operation[] | undefined }

/** The last changes that people made to a task or a type, newest first. Shows nothing when there are none. */
export function Operations({ operations = [] }: Changed) {
  if (operations.length === 0) return null
  return (
    <Card title="Changed by people">
      <ol className="operations">
        {operations.toReversed().map(({ at, by, what, subject = '' }) => (
          <li key={`${at} ${what}`}>
            <Name mono={false}>{`${operationText(what)} ${subject}`.trim()}</Name>
            <span className="soft">
              <Name mono={false}>{by}</Name> <When at={at} />
            </span>
          </li>
        ))}
      </ol>
    </Card>
  )
}

/** The last change that a person made, on one line. */
export function LastChange({ operations = [] }: Changed) {
  const last = operations.at(-1)
  if (!last) return null
  return (
    <span className="last-change faint isolated">
      <Name mono={false}>{operationText(last.what)}</Name> by <Name mono={false}>{last.by}</Name>
      <span>
        <When at={last.at} />
      </span>
    </span>
  )
}
