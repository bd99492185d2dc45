import { Link } from '@tanstack/react-router'
import type { Counts } from '../../shared/api/types.ts'
import { LatenessChart, ThroughputChart } from '../charts/chart.tsx'
import { slotsOf } from '../charts/series.ts'
import { CostCard } from '../cost/cost-card.tsx'
import { number, sumText } from '../parts/format.ts'
import { Card, Empty, Failure, Loading, Page } from '../parts/page.tsx'
import { StatusTiles } from '../parts/text.tsx'
import { TypesTable } from '../types/types-page.tsx'
import { AttentionList, useAttention } from './attention-page.tsx'

/** The whole system on one page: what needs attention first, then every type. */
export function OverviewPage() {
  const { work, failed, ...needs } = useAttention()
  const { types, counts, activity, cost } = work
  // Drawn piece by piece, the page would jump. What counts, schedules and workers fill has its size without them.
  const isWhole = types.data && activity.data && cost.data !== undefined
  return (
    <Page title="Overview">
      {failed && <Failure error={failed.error} onRetry={failed.refetch} />}
      {!failed && !isWhole && <Loading rows={12} />}
      {isWhole && (
        <Overview
          types={types.data}
          counts={counts.data && new Map(counts.data.map(one => [one.type, one.counts]))}
          activity={activity.data}
          cost={cost.data ?? undefined}
          needs={needs}
        />
      )}
    </Page>
  )
}

/** Only the types and their activity are known at first. */
type Known = Pick<Parameters<typeof TypesTable>[0], 'types' | 'activity' | 'cost'> & {
  readonly counts: ReadonlyMap<string, Counts> | undefined
  readonly needs: Parameters<typeof NeedsAttention>[0]
}

function Overview({ activity, cost, types, counts, needs }: Known) {
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
        <NeedsAttention {...needs} />
        <CostCard slots={slots} types={types.map(({ type }) => type)} />
      </div>
      <StatusTiles count={status => (counts ? sumText([...counts.values()].map(one => one[status])) : '–')} />
      <div className="charts">
        <ThroughputChart slots={slots} />
        <LatenessChart slots={slots} />
      </div>
      <TypesTable title="Types" types={types} counts={counts ?? new Map()} activity={activity} cost={cost} />
    </>
  )
}

const SHOWN_MAX = 5

/** The most urgent of what needs attention. Its height does not depend on what it shows. Undefined while it is not known. */
function NeedsAttention({ items, actions }: Pick<ReturnType<typeof useAttention>, 'items' | 'actions'>) {
  return (
    <div className="attention">
      <Card title="Needs attention" tools={<Link to="/attention">{allText(items?.length ?? 0)}</Link>}>
        {items ? <AttentionList items={items.slice(0, SHOWN_MAX)} actions={actions} /> : <Loading rows={2} />}
      </Card>
    </div>
  )
}

function allText(count: number): string {
  return count > SHOWN_MAX ? `Show all ${number(count)}` : 'What was done'
}
