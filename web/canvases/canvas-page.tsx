import { useInfiniteQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { Square } from 'lucide-react'
import { type ReactNode, useMemo } from 'react'
import type { ApiCanvas } from '../../shared/api/canvases.ts'
import { baton } from '../api/baton.ts'
import { canvasQuery } from '../api/queries.ts'
import { Button } from '../parts/controls.tsx'
import { AskedAction } from '../parts/dialog.tsx'
import { number, toneOf } from '../parts/format.ts'
import { JsonCard } from '../parts/json.tsx'
import { Card, Empty, Page, Unanswered } from '../parts/page.tsx'
import { IdHeading, StatusBadge, TileText, When } from '../parts/text.tsx'
import { ErrorView } from '../task/runs.tsx'
import { graphOf } from './graph.ts'
import { GraphView } from './graph-view.tsx'

const route = getRouteApi('/canvases/$id')

/** One canvas: its graph, how many of its tasks have each status, and its result. */
export function CanvasPage() {
  const { id } = route.useParams()
  const query = useInfiniteQuery(canvasQuery(id))
  const { data, hasNextPage, fetchNextPage, isFetchingNextPage } = query
  const [canvas] = data?.pages ?? []
  const items = useMemo(() => data?.pages.flatMap(page => page.items) ?? [], [data])
  if (!canvas)
    return (
      <Page title={id}>
        <Unanswered
          of={query}
          missing={<Empty title="There is no such canvas">It was never published, or it has expired.</Empty>}
        />
      </Page>
    )
  return (
    <CanvasView canvas={canvas} items={items}>
      {hasNextPage && (
        <div className="more">
          <Button
            text={`Show more: ${number(items.length)} of ${number(totalOf(canvas.counts))} tasks`}
            onClick={() => void showMore(fetchNextPage)}
            disabled={isFetchingNextPage}
          />
        </div>
      )}
    </CanvasView>
  )
}

/** Pages of 100 tasks that one click loads. */
const PAGES_AT_ONCE = 10

async function showMore(fetchNextPage: () => Promise<{ readonly hasNextPage: boolean }>): Promise<void> {
  for (let page = 0; page < PAGES_AT_ONCE; page++) {
    const { hasNextPage } = await fetchNextPage()
    if (!hasNextPage) return
  }
}

type CanvasProps = Pick<ApiCanvas, 'items'> & { readonly canvas: ApiCanvas; readonly children: ReactNode }

function CanvasView({ canvas, items, children }: CanvasProps) {
  const { id, status, error, result } = canvas
  const graph = useMemo(() => graphOf(items), [items])
  return (
    <Page
      title={id}
      heading={<IdHeading id={id} />}
      lead="canvas"
      actions={status === 'running' && <CancelButton id={id} />}
    >
      <div className="verdict">
        <StatusBadge state={status} />
        <p className="soft">
          Published <When at={canvas.createdAt} />
          {canvas.finishedAt && (
            <>
              , ended <When at={canvas.finishedAt} />
            </>
          )}
        </p>
        <Link className="verdict-link" to="/tasks" search={{ canvasId: id }}>
          List its tasks
        </Link>
      </div>
      {error && <ErrorView error={error} />}
      <div className="tiles few">
        {entriesOf(canvas.counts).map(([status, count]) => (
          <div key={status} className="tile">
            <TileText status={status} count={number(count)} />
          </div>
        ))}
      </div>
      <Progress counts={canvas.counts} />
      <div className="stack">
        <Card title="Graph">
          <GraphView graph={graph} canvasId={id} />
          {children}
        </Card>
        <JsonCard title="Result" value={result} />
      </div>
    </Page>
  )
}

type Counts = ApiCanvas['counts']

function totalOf(counts: Counts): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0)
}

/** The statuses that tasks of the canvas have, each with how many have it. */
function entriesOf(counts: Counts) {
  const entries = Object.entries(counts) as Array<[keyof Counts, number]>
  return entries.filter(([, count]) => count > 0)
}

/** How the tasks of the whole canvas are spread over the statuses. It stays readable for 10,000 tasks. */
function Progress({ counts }: Pick<ApiCanvas, 'counts'>) {
  const total = totalOf(counts)
  if (total < 2) return null
  return (
    <span className="share whole" aria-hidden>
      {entriesOf(counts).map(([status, count]) => (
        <span key={status} data-tone={toneOf(status)} style={{ flexGrow: count / total }} />
      ))}
    </span>
  )
}

function CancelButton({ id }: { readonly id: string }) {
  return (
    <AskedAction
      icon={Square}
      text="Cancel"
      title="Cancel this canvas?"
      action="Cancel the canvas"
      question="Its open tasks stop, and no further one is published. What has ended stays."
      run={() => baton.cancelCanvas(id)}
      done="The canvas was cancelled"
      changes={[['canvas', id], ['tasks'], ['counts']]}
    />
  )
}
