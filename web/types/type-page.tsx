import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { Pause, Pencil, Play, Plus } from 'lucide-react'
import { useState } from 'react'
import type { ApiType, TypeBody } from '../../shared/api/types.ts'
import { baton, isStatus } from '../api/baton.ts'
import { COUNTED_MAX } from '../api/paces.ts'
import { activityQuery, countsQuery, exactCountsQuery, queries, typeQuery } from '../api/queries.ts'
import { BacklogChart, LatenessChart, PublishedChart, ThroughputChart } from '../charts/chart.tsx'
import { openAfter, slotsOf } from '../charts/series.ts'
import { JsonDialog } from '../json/json-field.tsx'
import { JsonView } from '../json/json-view.tsx'
import { useAction } from '../parts/action.tsx'
import { Button } from '../parts/button.tsx'
import { moment, number } from '../parts/format.ts'
import { Empty, Failure, Loading } from '../parts/notes.tsx'
import { Operations } from '../parts/operations.tsx'
import { Card, Facts, Page } from '../parts/page.tsx'
import { STATUSES, type Status, toneOf } from '../parts/status.tsx'
import { countText, Name, When } from '../parts/text.tsx'
import { PublishDialog } from '../publish/publish-dialog.tsx'
import { LimitsCard } from './limits-card.tsx'

const route = getRouteApi('/types/$type')

/** One task type: its tasks by status, its limits and its configuration. */
export function TypePage() {
  const { type: name } = route.useParams()
  const { data: type, error, refetch } = useQuery(typeQuery(name))
  if (type) return <TypeView type={type} />
  return (
    <Page title={name} heading={<Name>{name}</Name>}>
      {isStatus(error, 404) && <Empty title="There is no such type">It was never registered.</Empty>}
      {error && !isStatus(error, 404) ? <Failure error={error} onRetry={refetch} /> : null}
      {!error && <Loading />}
    </Page>
  )
}

function TypeView({ type }: { readonly type: ApiType }) {
  const [asked, setAsked] = useState<'edit' | 'publish'>()
  const close = () => setAsked(undefined)
  return (
    <Page
      title={type.type}
      heading={<Name mono={false}>{type.type}</Name>}
      lead={
        <>
          {type.kind}
          {type.paused && <span className="tag warn">paused</span>}
        </>
      }
      actions={
        <>
          <Button look="accent" onClick={() => setAsked('publish')}>
            <Plus size={15} aria-hidden /> Publish a task
          </Button>
          <PauseButton type={type} />
          <Button onClick={() => setAsked('edit')}>
            <Pencil size={14} aria-hidden /> Edit
          </Button>
        </>
      }
    >
      <CountTiles type={type.type} />
      <Charts type={type.type} />
      <div className="columns">
        <div className="column">
          <Card title="Configuration">
            <JsonView value={configurationOf(type)} label="Configuration" />
          </Card>
        </div>
        <Side type={type} />
      </div>
      {asked === 'publish' && <PublishDialog type={type.type} onClose={close} />}
      {asked === 'edit' && <EditDialog type={type} onClose={close} />}
    </Page>
  )
}

/** The counts, which stop at a number. A reader may ask for the whole ones. */
function CountTiles({ type }: { readonly type: string }) {
  const { data: counts } = useQuery(countsQuery(type))
  const exact = useQuery(exactCountsQuery(type))
  const isMany = counts && Object.values(counts).some(count => count >= COUNTED_MAX)
  const text = (status: Status) => {
    if (exact.data && counts && counts[status] >= COUNTED_MAX) return number(exact.data[status])
    return counts ? countText(counts[status]) : '–'
  }
  return (
    <>
      <div className="tiles">
        {STATUSES.map(status => (
          <Link key={status} className="tile" to="/tasks" search={{ type: [type], status: [status] }}>
            <span className="status soft" data-tone={toneOf(status)}>
              <span className="dot" aria-hidden />
              {status}
            </span>
            <strong>{text(status)}</strong>
          </Link>
        ))}
      </div>
      {isMany && (
        <p className="count-note faint">
          {exact.data ? (
            <>
              Counted <When at={new Date(exact.dataUpdatedAt).toISOString()} />.{' '}
            </>
          ) : (
            'Counts stop at 1,000. '
          )}
          <button
            type="button"
            className="link-button"
            onClick={() => void exact.refetch()}
            disabled={exact.isFetching}
          >
            {exact.isFetching ? 'Counting …' : 'Count all'}
          </button>
        </p>
      )}
    </>
  )
}

function Charts({ type }: { readonly type: string }) {
  const { data: activity } = useQuery(activityQuery(type))
  const { data: counts } = useQuery(countsQuery(type))
  if (!activity || !counts) return <Loading rows={4} />
  const slots = slotsOf(activity.items, activity.from, activity.to)
  const open = counts.delayed + counts.ready + counts.running + counts.compensating
  const isMany = OPEN.some(status => counts[status] >= COUNTED_MAX)
  return (
    <div className="charts in-pairs">
      <ThroughputChart slots={slots} />
      <LatenessChart slots={slots} />
      <PublishedChart slots={slots} />
      {!isMany && <BacklogChart slots={slots} open={openAfter(slots, open)} />}
    </div>
  )
}

const OPEN = ['delayed', 'ready', 'running', 'compensating'] as const

function PauseButton({ type: { type, paused } }: { readonly type: ApiType }) {
  const change = useAction({
    run: () => (paused ? baton.resume(type) : baton.pause(type)),
    done: paused ? `${type} runs again` : `${type} is paused: no further task of it starts`,
    changes: [['type', type], ['types'], ['tasks']],
  })
  return (
    <Button onClick={() => change.mutate()} disabled={change.isPending}>
      {paused ? <Play size={14} aria-hidden /> : <Pause size={14} aria-hidden />}
      {paused ? 'Resume' : 'Pause'}
    </Button>
  )
}

function Side({ type }: { readonly type: ApiType }) {
  return (
    <aside className="column" aria-label="Details">
      <LimitsCard type={type} />
      <Card title="About">
        <Facts
          rows={[
            ['Order', type.ordering],
            ['Shards', type.shards],
            ['Served since', type.handlerSince && moment(type.handlerSince)],
            ['Created', <When key="created" at={type.createdAt} />],
            ['Changed', <When key="changed" at={type.updatedAt} />],
          ]}
        />
      </Card>
      <Operations operations={type.operations} />
    </aside>
  )
}

/** Replaces the configuration of a type. */
function EditDialog({ type, onClose }: { readonly type: ApiType; readonly onClose: () => void }) {
  // That of the text: what another person changes meanwhile is not overwritten.
  const [begun, setBegun] = useState(type)
  const put = useAction({
    run: (body: TypeBody) => baton.putType(type.type, { ...body, ifRevision: begun.revision }),
    done: `${type.type} was changed`,
    changes: [['type', type.type], ['types'], ['limits', type.type]],
    after: onClose,
  })
  const startOver = async () => {
    setBegun(await queries.fetchQuery({ ...typeQuery(type.type), staleTime: 0 }))
    put.reset()
  }
  return (
    <JsonDialog
      key={begun.revision}
      stale={{ error: put.error, onStartOver: startOver }}
      title={`Edit ${type.type}`}
      label="Configuration"
      value={configurationOf(begun)}
      hint="Changed defaults apply to tasks published afterwards; limits and ordering apply at once."
      isSending={put.isPending}
      onSave={put.mutate}
      onClose={onClose}
    />
  )
}

/** The configuration in an answer, in the form in which a request gives it. */
function configurationOf(type: ApiType): TypeBody {
  const {
    type: _name,
    paused: _paused,
    handlerSince: _handlerSince,
    createdAt: _createdAt,
    updatedAt: _updatedAt,
    operations: _operations,
    revision: _revision,
    ...configuration
  } = type
  return configuration as TypeBody
}
