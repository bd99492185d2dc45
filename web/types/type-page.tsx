import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { Pencil } from 'lucide-react'
import type { ApiType } from '../../shared/api/types.ts'
import { baton } from '../api/baton.ts'
import { COUNTED_MAX } from '../api/paces.ts'
import { activityQuery, countsQuery, exactCountsQuery, typeQuery } from '../api/queries.ts'
import { BacklogChart, LatenessChart, PublishedChart, ThroughputChart } from '../charts/chart.tsx'
import { openAfter, slotsOf } from '../charts/series.ts'
import { Acting, Button, Opener, PauseButton } from '../parts/controls.tsx'
import { countText, isEnded, number, STATUSES, type Status } from '../parts/format.ts'
import { JsonCard } from '../parts/json.tsx'
import { Card, Empty, Facts, Loading, Operations, Page, Unanswered } from '../parts/page.tsx'
import { StatusTiles, When } from '../parts/text.tsx'
import { PublishButton } from '../publish/publish-dialog.tsx'
import { Sentences } from '../settings/edit-dialog.tsx'
import { optionSentences } from '../settings/sentences.ts'
import { LimitsCard } from './limits-card.tsx'
import { PurgeButton, Purges } from './purge.tsx'
import { configurationOf, EditType } from './type-settings.tsx'

const route = getRouteApi('/types/$type')

/** One task type: its tasks by status, its limits and its configuration. */
export function TypePage() {
  const { type: name } = route.useParams()
  const type = useQuery(typeQuery(name))
  if (type.data) return <TypeView type={type.data} />
  return (
    <Page title={name}>
      <Unanswered of={type} missing={<Empty title="There is no such type">It was never registered.</Empty>} />
    </Page>
  )
}

function TypeView({ type }: { readonly type: ApiType }) {
  const { type: name, kind, paused } = type
  return (
    <Page
      title={name}
      lead={
        <>
          {kind}
          {paused && <span className="tag warn">paused</span>}
        </>
      }
      actions={
        <>
          <PublishButton type={name} />
          <PauseButton
            isPaused={paused}
            run={() => (paused ? baton.resume(name) : baton.pause(name))}
            done={paused ? `${name} runs again` : `${name} is paused: no further task of it starts`}
            changes={[['type', name], ['types'], ['tasks']]}
          />
          <Edit type={type} text="Edit" />
          <PurgeButton type={name} />
        </>
      }
    >
      <CountTiles type={type.type} />
      <Purges type={type} />
      <Charts type={type.type} />
      <div className="columns">
        <div className="column">
          <JsonCard title="Configuration" value={configurationOf(type)} />
        </div>
        <Side type={type} />
      </div>
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
      <StatusTiles type={type} count={text} />
      {isMany && (
        <p className="count-note faint">
          {exact.data ? (
            <>
              Counted <When at={new Date(exact.dataUpdatedAt).toISOString()} />.{' '}
            </>
          ) : (
            'Counts stop at 1,000. '
          )}
          <Button
            className="link-button"
            text={exact.isFetching ? 'Counting …' : 'Count all'}
            onClick={() => void exact.refetch()}
            disabled={exact.isFetching}
          />
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
  const openNow = OPEN.reduce((sum, status) => sum + counts[status], 0)
  const isCounted = OPEN.every(status => counts[status] < COUNTED_MAX)
  return (
    <div className="charts in-pairs">
      <ThroughputChart slots={slots} />
      <LatenessChart slots={slots} />
      <PublishedChart slots={slots} />
      {isCounted && <BacklogChart slots={slots} open={openAfter(slots, openNow)} />}
    </div>
  )
}

const OPEN = STATUSES.filter(status => !isEnded(status))

type EditProps = Omit<Parameters<typeof EditType>[0], 'onClose'> & { readonly text: string }

function Edit({ text, ...what }: EditProps) {
  return (
    <Acting>
      <Opener icon={Pencil} text={text} dialog={close => <EditType {...what} onClose={close} />} />
    </Acting>
  )
}

function Side({ type }: { readonly type: ApiType }) {
  return (
    <aside className="column" aria-label="Details">
      <LimitsCard type={type} tools={<Edit type={type} part="limits" text="Change limits" />} />
      <Card title="Options" tools={<Edit type={type} part="defaults" text="Change options" />}>
        <div className="prose">
          <Sentences of={optionSentences(type.kind, type.defaults)} />
        </div>
      </Card>
      <Card title="About">
        <Facts
          rows={[
            ['Order', type.ordering],
            ['Shards', type.shards],
            ['Served since', type.handlerSince && <When key="served" at={type.handlerSince} />],
            ['Created', <When key="created" at={type.createdAt} />],
            ['Changed', <When key="changed" at={type.updatedAt} />],
          ]}
        />
      </Card>
      <Operations operations={type.operations} />
    </aside>
  )
}
