import { useInfiniteQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { Square } from 'lucide-react'
import { useMemo, useState } from 'react'
import type { ApiCanvas } from '../../shared/api/canvases.ts'
import { baton, isStatus } from '../api/baton.ts'
import { canvasQuery } from '../api/queries.ts'
import { JsonView } from '../json/json-view.tsx'
import { useAction } from '../parts/action.tsx'
import { Button } from '../parts/button.tsx'
import { Confirm } from '../parts/dialog.tsx'
import { number } from '../parts/format.ts'
import { Empty, Failure, Loading } from '../parts/notes.tsx'
import { Card, Page } from '../parts/page.tsx'
import { StatusBadge, toneOf } from '../parts/status.tsx'
import { CopyButton, Name, When } from '../parts/text.tsx'
import { ErrorView } from '../task/error-view.tsx'
import { graphOf } from './graph.ts'
import { GraphView } from './graph-view.tsx'

const route = getRouteApi('/canvases/$id')

/** One canvas: its graph, how many of its tasks have each status, and its result. */
export function CanvasPage() {
  const { id } = route.useParams()
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery(
    canvasQuery(id),
  )
  const [canvas] = data?.pages ?? []
  const items = useMemo(() => data?.pages.flatMap(page => page.items) ?? [], [data])
  if (!canvas)
    return (
      <Page title={id} heading={<Name>{id}</Name>}>
        {isStatus(error, 404) && (
          <Empty title="There is no such canvas">It was never published, or it has expired.</Empty>
        )}
        {error && !isStatus(error, 404) ? <Failure error={error} onRetry={refetch} /> : null}
        {!error && <Loading />}
      </Page>
    )
  return (
    <CanvasView canvas={canvas} items={items}>
      {hasNextPage && (
        <div className="more">
          <Button onClick={() => void showMore(fetchNextPage)} disabled={isFetchingNextPage}>
            Show more: {number(items.length)} of {number(totalOf(canvas))} tasks
          </Button>
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

type Items = ApiCanvas['items']

function CanvasView({
  canvas,
  items,
  children,
}: {
  readonly canvas: ApiCanvas
  readonly items: Items
  readonly children: React.ReactNode
}) {
  const { id, status, error, result } = canvas
  const graph = useMemo(() => graphOf(items), [items])
  return (
    <Page
      title={id}
      heading={
        <span className="heading-id">
          <Name>{id}</Name>
          <CopyButton text={id} label="id" />
        </span>
      }
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
      <Counts counts={canvas.counts} />
      <Progress counts={canvas.counts} />
      <div className="stack">
        <Card title="Graph">
          <GraphView graph={graph} canvasId={id} />
          {children}
        </Card>
        {result !== undefined && (
          <Card title="Result">
            <JsonView value={result} label="Result" />
          </Card>
        )}
      </div>
    </Page>
  )
}

function totalOf({ counts }: ApiCanvas): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0)
}

function Counts({ counts }: Pick<ApiCanvas, 'counts'>) {
  const shown = (Object.entries(counts) as Array<[keyof ApiCanvas['counts'], number]>).filter(
    ([, count]) => count > 0,
  )
  return (
    <div className="tiles few">
      {shown.map(([status, count]) => (
        <div key={status} className="tile">
          <span className="status soft" data-tone={toneOf(status)}>
            <span className="dot" aria-hidden />
            {status}
          </span>
          <strong>{number(count)}</strong>
        </div>
      ))}
    </div>
  )
}

/** How the tasks of the whole canvas are spread over the statuses. It stays readable for 10,000 tasks. */
function Progress({ counts }: Pick<ApiCanvas, 'counts'>) {
  const entries = Object.entries(counts) as Array<[keyof ApiCanvas['counts'], number]>
  const total = entries.reduce((sum, [, count]) => sum + count, 0)
  if (total < 2) return null
  return (
    <span className="share whole" aria-hidden>
      {entries
        .filter(([, count]) => count > 0)
        .map(([status, count]) => (
          <span key={status} data-tone={toneOf(status)} style={{ flexGrow: count / total }} />
        ))}
    </span>
  )
}

function CancelButton({ id }: { readonly id: string }) {
  const [isAsked, setAsked] = useState(false)
  const cancel = useAction({
    run: () => baton.cancelCanvas(id),
    done: 'The canvas was cancelled',
    changes: [['canvas', id], ['tasks'], ['counts']],
  })
  return (
    <>
      <Button onClick={() => setAsked(true)}>
        <Square size={14} aria-hidden /> Cancel
      </Button>
      {isAsked && (
        <Confirm
          title="Cancel this canvas?"
          action="Cancel the canvas"
          onConfirm={() => cancel.mutate()}
          onClose={() => setAsked(false)}
        >
          <p>Its open tasks stop, and no further one is published. What has ended stays.</p>
        </Confirm>
      )}
    </>
  )
}
