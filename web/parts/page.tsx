import { type ReactNode, useEffect } from 'react'
import { Acting } from './button.tsx'

/** A page: its title, what can be done on it, and its content. */
export function Page({
  title,
  heading,
  lead,
  actions,
  children,
}: {
  readonly title: string
  /** What stands in place of the title on the page, such as an id that can be copied. */
  readonly heading?: ReactNode
  readonly lead?: ReactNode
  readonly actions?: ReactNode
  readonly children: ReactNode
}) {
  useEffect(() => {
    document.title = `${title} · Baton`
  }, [title])
  return (
    <>
      <header className="page-head">
        <div className="page-title">
          <h1>{heading ?? title}</h1>
          {lead && <div className="soft">{lead}</div>}
        </div>
        <Acting>{actions && <div className="page-actions">{actions}</div>}</Acting>
      </header>
      {children}
    </>
  )
}

export function Card({
  title,
  tools,
  children,
}: {
  readonly title?: string
  readonly tools?: ReactNode
  readonly children: ReactNode
}) {
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
        .filter(([, value]) => value !== undefined && value !== '')
        .map(([name, value]) => (
          <div key={name} className="fact">
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  )
}
