import { useQuery } from '@tanstack/react-query'
import type { ApiTask } from '../../shared/api/tasks.ts'
import type { TaskCost } from '../api/cost-answers.ts'
import { costQuery, taskCostQuery } from '../api/queries.ts'
import type { Slot } from '../charts/series.ts'
import { number, usd } from '../parts/format.ts'
import { Card, Facts } from '../parts/page.tsx'
import { When } from '../parts/text.tsx'
import { isYoung, ownUsd, ratesOfAll } from './cost.ts'

type CostProps = { readonly slots: readonly Slot[]; readonly types: readonly string[] }

/** What the work would cost on AWS. Only the local system meters it; a deployed one does not show this card. */
export function CostCard({ slots, types }: CostProps) {
  const { data: cost } = useQuery(costQuery)
  if (!cost) return null
  const { perMillion, perDay } = ratesOfAll(cost, slots)
  const span = isYoung(cost) ? 'the metered time' : 'the last hour'
  return (
    <Card title="Cost on AWS">
      <div className="cost">
        <p className="soft">A million tasks like the tasks of {span}</p>
        <strong>{perMillion === undefined ? '–' : usd(perMillion)}</strong>
        <p className="soft">A day at the pace of {span}</p>
        <strong>{usd(perDay)}</strong>
        <p className="faint" title={OWN}>
          {usd(cost.usd)} since the metering began <When at={cost.from} />. Of the cost of {span},{' '}
          {usd(ownUsd(cost, types))} belong to the system itself and not to a type. List prices of us-east-1
          without free tiers.
        </p>
      </div>
    </Card>
  )
}

const OWN =
  'Sweeps and receives that find nothing, items that all tasks share, canvases and schedules themselves, and what this page reads.'

/** What one task would have cost on AWS. Only the local system knows; a deployed one does not show this card. */
export function TaskCostCard({ task }: { readonly task: ApiTask }) {
  const { data: cost } = useQuery(taskCostQuery(task))
  if (!cost) return null
  return (
    <Card title="Cost on AWS">
      {cost.usage ? (
        <div title={CHARGED}>
          <Facts rows={rowsOf(cost.usd ?? 0, cost.usage)} />
        </div>
      ) : (
        <p className="card-note faint">
          Not kept: the meter knows the tasks that used something last since the system started.
        </p>
      )}
    </Card>
  )
}

const CHARGED =
  'Its own reads, writes, messages and log lines, and its share of the invocations and requests that served several tasks. What this page reads is left out. List prices of us-east-1 without free tiers.'

function rowsOf(cost: number, usage: NonNullable<TaskCost['usage']>) {
  const { writeUnits, readUnits, sqsRequests, apiRequests, invocations, gbMs } = usage
  return [
    ['So far', <strong key="cost">{usd(cost)}</strong>],
    ['A million like it', usd(cost * 1e6)],
    ['Write units', amount(writeUnits)],
    ['Read units', amount(readUnits)],
    ['Queue requests', amount(sqsRequests)],
    ['API requests', amount(apiRequests)],
    ['Lambda invocations', amount(invocations)],
    ['Lambda memory × time', `${amount(gbMs / 1_000)} GB-seconds`],
  ] as const
}

/** Shares have at most two digits after the point. */
function amount(value: number): string {
  return Number.isInteger(value) ? number(value) : String(Number(value.toFixed(2)))
}
