import { useQuery } from '@tanstack/react-query'
import { type Cost, costQuery } from '../api/queries.ts'
import type { Slot } from '../charts/series.ts'
import { usd } from '../parts/format.ts'
import { Card } from '../parts/page.tsx'
import { When } from '../parts/text.tsx'

/** What the work would cost on AWS. Only the local system meters it; a deployed one does not show this card. */
export function CostCard({ slots }: { readonly slots: readonly Slot[] }) {
  const { data: cost } = useQuery(costQuery)
  if (!cost) return null
  const perMillion = costPerMillion(cost, slots)
  const span = meteredMs(cost) < HOUR_MS ? 'the metered time' : 'the last hour'
  return (
    <Card title="Cost on AWS">
      <div className="cost">
        <p className="soft">A million tasks like those of {span}</p>
        <strong>{perMillion === undefined ? '–' : usd(perMillion)}</strong>
        <p className="soft">A day at the pace of {span}</p>
        <strong>{usd(costPerDay(cost))}</strong>
        <p className="faint">
          Metered since <When at={cost.from} />: {usd(cost.usd)}. List prices of us-east-1 without free tiers,
          with what this page asks.
        </p>
      </div>
    </Card>
  )
}

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** A pace that was measured over less says little about a day. */
const SPAN_MS_MIN = 60_000

/** What a million tasks would cost, in USD, by those that ended in the last hour. Undefined when none has ended. */
function costPerMillion({ minutes }: Cost, slots: readonly Slot[]): number | undefined {
  const ended = slots.reduce((sum, slot) => sum + slot.succeeded + slot.failed + slot.cancelled, 0)
  return ended === 0 ? undefined : (spent(minutes) / ended) * 1e6
}

/** What a day would cost at the pace of the metered part of the last hour, in USD. */
function costPerDay(cost: Cost): number {
  return (spent(cost.minutes) / meteredMs(cost)) * DAY_MS
}

/** How much of the last hour is metered: less than all of it while the system is young. */
function meteredMs({ minutes }: Cost, now = Date.now()): number {
  const first = Date.parse(minutes[0]?.at ?? '')
  return Math.max(SPAN_MS_MIN, now - first || SPAN_MS_MIN)
}

function spent(minutes: Cost['minutes']): number {
  return minutes.reduce((sum, { usd }) => sum + usd, 0)
}
