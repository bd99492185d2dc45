import { useQuery } from '@tanstack/react-query'
import { costQuery } from '../api/queries.ts'
import type { Slot } from '../charts/series.ts'
import { usd } from '../parts/format.ts'
import { Card } from '../parts/page.tsx'
import { When } from '../parts/text.tsx'
import { isYoung, ownUsd, ratesOfAll } from './cost.ts'

/** What the work would cost on AWS. Only the local system meters it; a deployed one does not show this card. */
export function CostCard({
  slots,
  types,
}: {
  readonly slots: readonly Slot[]
  readonly types: readonly string[]
}) {
  const { data: cost } = useQuery(costQuery)
  if (!cost) return null
  const { perMillion, perDay } = ratesOfAll(cost, slots)
  const span = isYoung(cost) ? 'the metered time' : 'the last hour'
  return (
    <Card title="Cost on AWS">
      <div className="cost">
        <p className="soft">A million tasks like those of {span}</p>
        <strong>{perMillion === undefined ? '–' : usd(perMillion)}</strong>
        <p className="soft">A day at the pace of {span}</p>
        <strong>{usd(perDay)}</strong>
        <p className="faint" title={OWN}>
          Metered since <When at={cost.from} />: {usd(cost.usd)}. Of {span}, {usd(ownUsd(cost, types))} are of
          no type. List prices of us-east-1 without free tiers.
        </p>
      </div>
    </Card>
  )
}

const OWN =
  'Sweeps and receives that find nothing, items that all tasks share, canvases and schedules themselves, and what this page reads.'
