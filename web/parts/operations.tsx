import type { ApiOperation } from '../../shared/api/scalars.ts'
import { Card } from './page.tsx'
import { Name, When } from './text.tsx'

/** The last changes that people made to a task or a type, newest first. Shows nothing when there are none. */
export function Operations({
  operations = [],
}: {
  readonly operations?: readonly ApiOperation[] | undefined
}) {
  if (operations.length === 0) return null
  return (
    <Card title="Changed by people">
      <ol className="operations">
        {operations.toReversed().map(({ at, by, what }) => (
          <li key={`${at} ${what}`}>
            <Name mono={false}>{what}</Name>
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
export function LastChange({
  operations = [],
}: {
  readonly operations?: readonly ApiOperation[] | undefined
}) {
  const last = operations.at(-1)
  if (!last) return null
  return (
    <span className="last-change faint isolated">
      <Name mono={false}>{last.what}</Name> by <Name mono={false}>{last.by}</Name>
      <span>
        <When at={last.at} />
      </span>
    </span>
  )
}
