import { useQuery } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import type { LimitUsage } from '../../shared/api/diagnosis/statistics.ts'
import type { ApiType } from '../../shared/api/types.ts'
import { limitUsageQuery } from '../api/queries.ts'
import { InputField } from '../parts/controls.tsx'
import { duration, number } from '../parts/format.ts'
import { Card, Facts } from '../parts/page.tsx'
import { Holders, useNow, When } from '../parts/text.tsx'

/** The limits of a type, and how much of them is used at present. The two limits may have different keys, and so different values. */
export function LimitsCard({ type: { type, limits = {} } }: { readonly type: ApiType }) {
  const { rate, concurrency } = limits
  const [values, setValues] = useState<Readonly<Record<string, string>>>({})
  const chosen = (key = '') => values[key] || undefined
  const isLimited = rate !== undefined || concurrency !== undefined
  const [rateValue, concurrencyValue] = [chosen(rate?.key), chosen(concurrency?.key)]
  const { data: usage } = useQuery({
    ...limitUsageQuery(type, {
      ...(rateValue !== undefined && { rateValue }),
      ...(concurrencyValue !== undefined && { concurrencyValue }),
    }),
    enabled: isLimited,
  })
  if (!isLimited)
    return (
      <Card title="Limits">
        <Facts rows={[['None', 'Tasks start as fast as workers take them.']]} />
      </Card>
    )
  // Both limits may have the same key.
  const keys = new Set([rate?.key, concurrency?.key].filter(key => key !== undefined))
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
      {[...keys].map(key => (
        <KeyField key={key} name={key} onValue={value => setValues(all => ({ ...all, [key]: value }))} />
      ))}
      {usage?.concurrency?.holders && <Permits concurrency={usage.concurrency} />}
    </Card>
  )
}

/** After so long without a key press, the value counts as typed. */
const TYPED_MS = 400

/** Takes a value of a key, and tells it when the reader has typed it. */
function KeyField({ name, onValue }: { readonly name: string; readonly onValue: (value: string) => void }) {
  const [text, setText] = useState('')
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  useEffect(() => () => clearTimeout(timer.current), [])
  const type = (value: string) => {
    setText(value)
    clearTimeout(timer.current)
    timer.current = setTimeout(onValue, TYPED_MS, value)
  }
  return (
    <div className="usage">
      <InputField
        label={`Usage for ${name}`}
        value={text}
        placeholder={`a value of ${name}`}
        onChange={event => type(event.target.value)}
      />
    </div>
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
      <Holders holders={holders} look="holders" />
    </div>
  )
}
