import { CircleAlert, Inbox, KeyRound } from 'lucide-react'
import type { ReactNode } from 'react'
import type { Problem } from '../../shared/api/problems.ts'
import { ProblemError } from '../../shared/client/problem-error.ts'
import { isStatus, problemText } from '../api/baton.ts'
import { Button } from './button.tsx'

/** What a page shows in place of its content: nothing there, not yet there, or not to be had. */

export function Empty({ title, children }: { readonly title: string; readonly children?: ReactNode }) {
  return (
    <div className="note">
      <Inbox size={22} aria-hidden className="faint" />
      <p className="note-title">{title}</p>
      {children && <div className="soft">{children}</div>}
    </div>
  )
}

export function Failure({ error, onRetry }: { readonly error: unknown; readonly onRetry?: () => void }) {
  if (isStatus(error, 403) && !isExplained(error)) return <Unsigned />
  const isRefused = isStatus(error, 401) || isStatus(error, 403)
  if (isRefused && isExplained(error)) return <Refused problem={error.problem} onRetry={onRetry} />
  return (
    <div className="note" role="alert">
      <CircleAlert size={22} aria-hidden className="bad" />
      <p className="note-title">This cannot be shown at the moment</p>
      <p className="soft isolated">{problemText(error)}</p>
      {onRetry && <Button onClick={onRetry}>Try again</Button>}
    </div>
  )
}

/** Whether the answer itself says what is wrong. The dashboard of the command line adds that, because API Gateway only says «Forbidden». */
function isExplained(error: unknown): error is ProblemError {
  return error instanceof ProblemError && error.problem.type !== 'about:blank'
}

type RefusedProps = { readonly problem: Problem; readonly onRetry?: (() => void) | undefined }

/** A refusal of the caller, with the reason and what to do about it. */
function Refused({ problem, onRetry }: RefusedProps) {
  return (
    <div className="note" role="alert">
      <KeyRound size={22} aria-hidden className="warn" />
      <p className="note-title isolated">{problem.title}</p>
      <p className="soft isolated">{problem.detail}</p>
      {onRetry && <Button onClick={onRetry}>Try again</Button>}
    </div>
  )
}

/** What a system answers that demands a signature with each request. A browser cannot sign, so a proxy on this machine does. */
export function Unsigned() {
  return (
    <div className="note" role="alert">
      <KeyRound size={22} aria-hidden className="warn" />
      <p className="note-title">This system answers signed requests only</p>
      <p className="soft">
        A browser does not sign its requests. Open this page through the command line, which signs them with
        your own AWS credentials:
      </p>
      <p>
        <code className="mono command">npx baton dashboard --stack NAME</code>
      </p>
      <p className="faint">If you came that way, your credentials do not allow what this page asks.</p>
    </div>
  )
}

/** Grey rows of the height of the content, so that nothing moves when it arrives. */
export function Loading({ rows = 6 }: { readonly rows?: number }) {
  return (
    <div className="loading" role="status" aria-label="Loading">
      {Array.from({ length: rows }, (_, row) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the rows are all alike
        <div key={row} className="loading-row" />
      ))}
    </div>
  )
}
