import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import type { LimitUsage, LimitUsageQuery } from '../../shared/api/diagnosis/statistics.ts'
import type { ApiType } from '../../shared/api/types.ts'
import { EXAMINED_MAX, limitUsageQuery } from '../api/queries.ts'
import { InputField } from '../parts/controls.tsx'
import { number } from '../parts/format.ts'
import { Card, Facts } from '../parts/page.tsx'
import { Holders, useNow, useSettled, When } from '../parts/text.tsx'
import { Sentences } from '../settings/edit-dialog.tsx'
import { limitSentences, waitingSentence } from '../settings/sentences.ts'

/** The limits of a type, and how much of them is used at present. The two limits may have different keys, and so different values. */
export function LimitsCard({ type, tools }: { readonly type: ApiType; readonly tools: ReactNode }) {
  const { rate, concurrency } = type.limits ?? {}
  const [values, setValues] = useState<Readonly<Record<string, string>>>({})
  const settled = useSettled(values)
  const chosen = (key = '') => settled[key] || undefined
  const [rateValue, concurrencyValue] = [chosen(rate?.key), chosen(concurrency?.key)]
  const usage = useUsage(type, {
    ...(rateValue !== undefined && { rateValue }),
    ...(concurrencyValue !== undefined && { concurrencyValue }),
  })
  const { held, max = 0 } = usage?.concurrency ?? {}
  // Both limits may have the same key.
  const keys = new Set([rate?.key, concurrency?.key].filter(key => key !== undefined))
  return (
    <Card title="Limits" tools={tools}>
      <div className="prose isolated">
        <Sentences of={limitSentences(type.limits)} />
        <LimitsNow type={type} />
      </div>
      {(rate || concurrency) && (
        <Facts
          rows={[
            ['Next slot', usage?.rate?.nextSlotAt && <NextSlot at={usage.rate.nextSlotAt} />],
            ['Permits held', held !== undefined && `${number(held)} of ${number(max)}`],
          ]}
        />
      )}
      {[...keys].map(key => (
        <div key={key} className="usage">
          <InputField
            label={`Usage for ${key}`}
            placeholder={`a value of ${key}`}
            onChange={({ target }) => setValues(all => ({ ...all, [key]: target.value }))}
          />
        </div>
      ))}
      {usage?.concurrency?.holders && <Permits concurrency={usage.concurrency} />}
    </Card>
  )
}

/** How much of the limits is used, for these values of their keys. Nothing is asked about a type without limits. */
function useUsage({ type, limits = {} }: ApiType, values: LimitUsageQuery): LimitUsage | undefined {
  const enabled = limits.rate !== undefined || limits.concurrency !== undefined
  return useQuery({ ...limitUsageQuery(type, values), enabled }).data
}

/** What waits for the limits of a type now, with a link to the tasks. */
export function LimitsNow({ type }: { readonly type: ApiType }) {
  const { rate, concurrency } = useUsage(type, {}) ?? {}
  const limits = [rate, concurrency].flatMap(limit =>
    limit?.waiting ? [{ ...limit, waiting: limit.waiting }] : [],
  )
  if (limits.length === 0) return null
  const sentences = limits.map(({ waiting, key }) => waitingSentence(waiting, key, EXAMINED_MAX))
  return (
    <>
      <Sentences of={[...new Set(sentences)]} />
      {limits.some(({ waiting }) => waiting.length > 0) && (
        <Link to="/tasks" search={{ type: [type.type], status: ['ready'], order: 'due' }}>
          Show what waits
        </Link>
      )}
    </>
  )
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
