import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { LimitUsage } from '../../shared/api/diagnosis/load.ts'
import type { ApiType } from '../../shared/api/types.ts'
import { limitUsageQuery } from '../api/queries.ts'
import { useNow } from '../parts/clock.ts'
import { Facts } from '../parts/facts.tsx'
import { duration, number } from '../parts/format.ts'
import { Card } from '../parts/page.tsx'
import { Name, When } from '../parts/text.tsx'

/** The limits of a type, and how much of them is used at present. */
export function LimitsCard({ type: { type, limits = {} } }: { readonly type: ApiType }) {
  const { rate, concurrency } = limits
  const key = rate?.key ?? concurrency?.key
  const [value, setValue] = useState('')
  const { data: usage } = useQuery({
    ...limitUsageQuery(type, value === '' ? undefined : value),
    enabled: rate !== undefined || concurrency !== undefined,
  })
  if (!rate && !concurrency)
    return (
      <Card title="Limits">
        <Facts rows={[['None', 'Tasks start as fast as workers take them.']]} />
      </Card>
    )
  return (
    <Card title="Limits">
      <Facts
        rows={[
          ['Rate', rate && `${number(rate.limit)} per ${duration(rate.perMs)}${keyed(rate.key)}`],
          ['Next slot', usage?.rate?.nextSlotAt && <NextSlot at={usage.rate.nextSlotAt} />],
          ['At a time', concurrency && `${number(concurrency.max)}${keyed(concurrency.key)}`],
          ['Permits held', heldText(usage)],
        ]}
      />
      {key !== undefined && (
        <div className="usage">
          <label className="field">
            Usage for {key}
            <input
              value={value}
              placeholder={`a value of ${key}`}
              onChange={event => setValue(event.target.value)}
            />
          </label>
        </div>
      )}
      {usage?.concurrency?.holders && <Permits concurrency={usage.concurrency} />}
    </Card>
  )
}

function keyed(key: string | undefined): string {
  return key === undefined ? '' : ` for each ${key}`
}

function heldText(usage: LimitUsage | undefined): string | undefined {
  const { held, max } = usage?.concurrency ?? {}
  return held === undefined || max === undefined ? undefined : `${number(held)} of ${number(max)}`
}

function NextSlot({ at }: { readonly at: string }) {
  return Date.parse(at) <= useNow() ? 'free now' : <When at={at} />
}

type Concurrency = NonNullable<LimitUsage['concurrency']>

function Permits({ concurrency: { held = 0, max, holders = [] } }: { readonly concurrency: Concurrency }) {
  const share = Math.min(1, held / Math.max(1, max))
  return (
    <div className="usage">
      <span className="meter" data-tone={share < 1 ? 'busy' : 'warn'} aria-hidden>
        <span style={{ width: `${share * 100}%` }} />
      </span>
      <ul className="holders">
        {holders.map(({ taskId, since }) => (
          <li key={taskId}>
            <Link to="/tasks/$id" params={{ id: taskId }} search={{}} className="cut">
              <Name>{taskId}</Name>
            </Link>
            <span className="faint">
              <When at={since} />
            </span>
          </li>
        ))}
      </ul>
    </div>
  )
}
