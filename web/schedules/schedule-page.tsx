import { infiniteQueryOptions, queryOptions, useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { Pencil, Trash2 } from 'lucide-react'
import type { ApiSchedule, ApiTick } from '../../shared/api/schedules.ts'
import { baton } from '../api/baton.ts'
import { listed, pageAt, scheduleQuery, typesQuery } from '../api/queries.ts'
import { Button, Opener, useAction } from '../parts/controls.tsx'
import { Confirm } from '../parts/dialog.tsx'
import { moment } from '../parts/format.ts'
import { JsonView } from '../parts/json.tsx'
import {
  Answer,
  Card,
  type Column,
  Empty,
  Facts,
  Operations,
  Page,
  Table,
  Unanswered,
} from '../parts/page.tsx'
import { IdLink, Name, StatusBadge, TypeLink, When } from '../parts/text.tsx'
import { Sentences } from '../settings/edit-dialog.tsx'
import { scheduleSentences } from '../settings/sentences.ts'
import { ErrorView } from '../task/runs.tsx'
import { nextTicks } from './next-ticks.ts'
import { changesOf, EditSchedule } from './schedule-settings.tsx'
import { ScheduleActions } from './schedules-page.tsx'

const route = getRouteApi('/schedules/$name')

/** One schedule: whether it ticks and why not, its next and past ticks, and its settings. */
export function SchedulePage() {
  const { name } = route.useParams()
  const schedule = useQuery(queryOptions({ ...scheduleQuery(name), meta: { pace: 5_000 } }))
  if (schedule.data) return <ScheduleView schedule={schedule.data} />
  return (
    <Page title={name} heading={<Name>{name}</Name>}>
      <Unanswered
        of={schedule}
        missing={<Empty title="There is no such schedule">It was removed, or never created.</Empty>}
      />
    </Page>
  )
}

function ScheduleView({ schedule }: { readonly schedule: ApiSchedule }) {
  const { name, paused, managedBy, lastError, task, operations } = schedule
  return (
    <Page
      title={name}
      heading={<Name mono={false}>{name}</Name>}
      lead={
        <>
          schedule
          {paused && <span className="tag warn">paused</span>}
          {managedBy && <span className="tag">deployed</span>}
        </>
      }
      actions={
        <>
          <ScheduleActions schedule={schedule} />
          {managedBy === undefined && <Keeping schedule={schedule} />}
        </>
      }
    >
      <div className="verdict isolated">
        <div>
          <Standing schedule={schedule} />
        </div>
      </div>
      {lastError && <ErrorView error={lastError} />}
      <div className="columns">
        <div className="column">
          <PastTicks name={name} />
          <Card title="Task of each tick">
            <JsonView value={task} label="Task" />
          </Card>
        </div>
        <aside className="column" aria-label="Details">
          <NextTicks schedule={schedule} />
          <Card title="Settings">
            <div className="prose isolated">
              <Sentences of={scheduleSentences(schedule)} />
              {managedBy && (
                <p>
                  The code of the stack {managedBy} keeps this schedule. Change or remove it there, and
                  deploy: an edit here is refused.
                </p>
              )}
            </div>
            <Facts
              rows={[
                ['Type', <TypeLink key="type" type={task.type} />],
                ['Last run', <When key="last" at={schedule.lastRunAt} />],
                ['Created', <When key="created" at={schedule.createdAt} />],
                ['Changed', <When key="changed" at={schedule.updatedAt} />],
              ]}
            />
          </Card>
          <Operations operations={operations} />
        </aside>
      </div>
    </Page>
  )
}

/** Whether the schedule ticks, and if it does not, why, and what to do. */
function Standing({
  schedule: { name, paused, finishedAt, nextRunAt, lastError, operations = [], task },
}: {
  readonly schedule: ApiSchedule
}) {
  const { data: types = [] } = useQuery(typesQuery)
  const type = types.find(one => one.type === task.type)
  const pause = operations.findLast(({ what }) => what === 'pause')
  if (finishedAt !== undefined)
    return (
      <p>
        It had its last tick <When at={finishedAt} />. New settings give it new ticks.
      </p>
    )
  if (paused)
    return (
      <p>
        It is paused
        {pause && (
          <>
            {' '}
            by {pause.by} since <When at={pause.at} />
          </>
        )}
        : it has no ticks, and those that fall into the pause are missed. Resume it, or run it now.
      </p>
    )
  return (
    <>
      {lastError && (
        <p className="bad">Its last tick published nothing. The next tick tries again, or run it now.</p>
      )}
      {type?.paused && (
        <p className="warn">Its type {type.type} is paused: ticks publish tasks, and these wait.</p>
      )}
      <p>
        {name} ticks next <When at={nextRunAt} />.
      </p>
    </>
  )
}

function Keeping({ schedule: { name, task } }: { readonly schedule: ApiSchedule }) {
  const navigate = useNavigate()
  const remove = useAction({
    run: () => baton.removeSchedule(name),
    done: `${name} was removed`,
    changes: changesOf(name),
    after: () => void navigate({ to: '/schedules' }),
  })
  return (
    <>
      <Opener icon={Pencil} text="Edit" dialog={close => <EditSchedule name={name} onClose={close} />} />
      <Opener
        look="danger"
        icon={Trash2}
        text="Remove"
        dialog={close => (
          <Confirm
            title={`Remove the schedule ${name}?`}
            action="Remove"
            isDanger
            onConfirm={() => remove.mutate()}
            onClose={close}
          >
            <p>
              No tick follows, so {task.type} gets no further task from it. Its past ticks are not shown any
              more. The tasks that it has published stay, and run to their end.
            </p>
          </Confirm>
        )}
      />
    </>
  )
}

function NextTicks({ schedule }: { readonly schedule: ApiSchedule }) {
  const ticks = nextTicks([schedule], 5).map(({ at }) => new Date(at).toISOString())
  return (
    <Card title="Next ticks">
      {ticks.length === 0 && <p className="note soft">No tick is to come.</p>}
      <Facts rows={ticks.map(at => [moment(at), <When key={at} at={at} />])} />
    </Card>
  )
}

const ticksQuery = (name: string) =>
  infiniteQueryOptions({
    queryKey: ['ticks', name],
    queryFn: ({ pageParam }) => baton.ticks(name, { ...pageAt(pageParam), limit: 20 }),
    ...listed,
  })

const COLUMNS: ReadonlyArray<Column<ApiTick>> = [
  { name: 'Tick', cell: ({ at }) => moment(at) },
  {
    name: 'Outcome',
    cell: ({ task }) =>
      task ? (
        <StatusBadge state={task.status} reason={task.statusReason} />
      ) : (
        <span className="soft">no task</span>
      ),
  },
  {
    name: 'Task',
    cell: ({ task, taskId }) => (task ? <IdLink id={taskId} /> : 'missed, or not kept any more'),
  },
  {
    name: 'Error',
    cell: ({ task }) => task?.error && <span className="bad isolated cut">{task.error.message}</span>,
  },
]

/** The past ticks, newest first, with what became of their tasks. */
function PastTicks({ name }: { readonly name: string }) {
  const query = useInfiniteQuery(ticksQuery(name))
  const { hasNextPage, fetchNextPage, isFetchingNextPage } = query
  return (
    <Card title="Past ticks">
      <Answer of={query} rows={3}>
        {({ pages }) => {
          const ticks = pages.flatMap(page => page.items)
          if (ticks.length === 0) return <p className="note soft">It has not ticked yet.</p>
          return <Table columns={COLUMNS} rows={ticks} keyOf={({ at }) => at} />
        }}
      </Answer>
      {hasNextPage && (
        <div className="more">
          <Button text="Show more" onClick={() => void fetchNextPage()} disabled={isFetchingNextPage} />
        </div>
      )}
    </Card>
  )
}
