import { Link } from '@tanstack/react-router'
import { LatenessChart, ThroughputChart } from '../charts/chart.tsx'
import { slotsOf } from '../charts/series.ts'
import { CostCard } from '../cost/cost-card.tsx'
import { number, sumText } from '../parts/format.ts'
import { Answer, Card, combined, Empty, Page } from '../parts/page.tsx'
import { StatusTiles } from '../parts/text.tsx'
import { TypesTable, useWork } from '../types/types-page.tsx'
import { AttentionList, useAttention } from './attention-page.tsx'

/** The whole system on one page: what needs attention first, then every type. */
export function OverviewPage() {
  const { counts, ...work } = useWork()
  // Drawn piece by piece, the page would jump. What counts, schedules and workers fill has its size without them.
  return (
    <Page title="Overview">
      <Answer of={combined(work)} rows={12}>
        {known => <Overview {...known} counts={counts.data} />}
      </Answer>
    </Page>
  )
}

type OverviewProps = Omit<Parameters<typeof TypesTable>[0], 'title'>

function Overview(known: OverviewProps) {
  const { activity, cost, types, counts } = known
  if (types.length === 0)
    return (
      <Empty title="There are no task types yet">
        A type appears when a handler is deployed, or when it is registered over the API.
      </Empty>
    )
  const slots = slotsOf(activity.items, activity.from, activity.to)
  return (
    <>
      <div className={cost ? 'watch with-cost' : 'watch'}>
        <NeedsAttention />
        <CostCard slots={slots} types={types.map(({ type }) => type)} />
      </div>
      <StatusTiles count={status => (counts ? sumText(counts.map(one => one.counts[status])) : '–')} />
      <div className="charts">
        <ThroughputChart slots={slots} />
        <LatenessChart slots={slots} />
      </div>
      <TypesTable title="Types" {...known} />
    </>
  )
}

const SHOWN_MAX = 5

/** The most urgent of what needs attention. Its height does not depend on what it shows. */
function NeedsAttention() {
  const attention = useAttention()
  const count = attention.data?.items.length ?? 0
  const text = count > SHOWN_MAX ? `Show all ${number(count)}` : 'What was done'
  return (
    <div className="attention">
      <Card title="Needs attention" tools={<Link to="/attention">{text}</Link>}>
        <Answer of={attention} rows={2}>
          {({ items, actions }) => <AttentionList items={items.slice(0, SHOWN_MAX)} actions={actions} />}
        </Answer>
      </Card>
    </div>
  )
}
