import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { Pencil, Trash2 } from 'lucide-react'
import type { ApiSchedule, ApiTick } from '../../shared/api/schedules.ts'
import { baton } from '../api/baton.ts'
import { list, scheduleQuery, typesQuery } from '../api/queries.ts'
import { Opener } from '../parts/controls.tsx'
import { AskedAction } from '../parts/dialog.tsx'
import { JsonCard } from '../parts/json.tsx'
import { Card, Empty, Facts, Operations, Page, Unanswered } from '../parts/page.tsx'
import { type Column, Pages, Table } from '../parts/table.tsx'
import { IdLink, StatusBadge, TypeLink, When } from '../parts/text.tsx'
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
  const schedule = useQuery(scheduleQuery(name))
  if (schedule.data) return <ScheduleView schedule={schedule.data} />
  return (
    <Page title={name}>
      <Unanswered
        of={schedule}
        missing={<Empty title="There is no such schedule">It was removed, or never created.</Empty>}
      />
    </Page>
  )
}

type ScheduleProps = { readonly schedule: ApiSchedule }

function ScheduleView({ schedule }: ScheduleProps) {
  const { name, managedBy, lastError, task, operations, lastRunAt, createdAt, updatedAt } = schedule
  const ticks = nextTicks([schedule], 5).map(({ at }) => new Date(at).toISOString())
  return (
    <Page
      title={name}
      lead={<Standing schedule={schedule} />}
      actions={
        <>
          <ScheduleActions schedule={schedule} />
          {managedBy === undefined && <Keeping schedule={schedule} />}
        </>
      }
    >
      {lastError && <ErrorView error={lastError} />}
      <div className="columns">
        <div className="column">
          <PastTicks name={name} />
          <JsonCard title="Task of each tick" value={task} />
        </div>
        <aside className="column" aria-label="Details">
          <Card title="Next ticks">
            {ticks.length === 0 && <p className="note soft">No tick is to come.</p>}
            <ol className="prose">
              {ticks.map(at => (
                <li key={at}>
                  <When at={at} as="both" />
                </li>
              ))}
            </ol>
          </Card>
          <Card title="Settings">
            <div className="prose isolated">
              <Sentences of={scheduleSentences(schedule)} />
              {managedBy &&
                `The code of the stack ${managedBy} keeps it: change or remove it there, and deploy. An edit here is refused.`}
            </div>
            <Facts
              rows={[
                ['Type', <TypeLink key="type" type={task.type} className="cut" />],
                ['Last run', <When key="last" at={lastRunAt} />],
                ['Created', <When key="created" at={createdAt} />],
                ['Changed', <When key="changed" at={updatedAt} />],
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
function Standing({ schedule }: ScheduleProps) {
  const { paused, finishedAt, nextRunAt, lastError, operations = [], task } = schedule
  const { data: types = [] } = useQuery(typesQuery)
  const pause = operations.findLast(({ what }) => what === 'pause')
  if (finishedAt !== undefined) return 'It has had its last tick. New settings give it new ticks.'
  if (paused)
    return (
      <span className="warn">
        {pause ? `${pause.by} has paused it ` : 'It is paused '}
        <When at={pause?.at} />. Ticks in the pause are missed: resume it, or run it now.
      </span>
    )
  return (
    <>
      Ticks next <When at={nextRunAt} />.{' '}
      {lastError && <span className="bad">Its last tick published nothing; the next tick tries again. </span>}
      {types.some(({ type, paused }) => type === task.type && paused) && (
        <span className="warn">Its type is paused: the tasks of its ticks wait.</span>
      )}
    </>
  )
}

/** The actions on a schedule that no code keeps. */
function Keeping({ schedule: { name, task } }: ScheduleProps) {
  const navigate = useNavigate()
  return (
    <>
      <Opener icon={Pencil} text="Edit" dialog={close => <EditSchedule name={name} onClose={close} />} />
      <AskedAction
        look="danger"
        icon={Trash2}
        text="Remove"
        title={`Remove the schedule ${name}?`}
        action="Remove the schedule"
        question={`It has no further tick, so it publishes no further task of ${task.type}. The tasks that it has published stay, and run to their end.`}
        run={() => baton.removeSchedule(name)}
        done={`${name} was removed`}
        changes={changesOf()}
        after={() => void navigate({ to: '/schedules' })}
      />
    </>
  )
}

const ticksQuery = (name: string) => list(['ticks', name], page => baton.ticks(name, { ...page, limit: 20 }))

const COLUMNS: ReadonlyArray<Column<ApiTick>> = [
  { name: 'Tick', cell: ({ at }) => <When at={at} as="both" /> },
  {
    name: 'Outcome',
    cell: ({ task }) => (task ? <StatusBadge state={task.status} reason={task.statusReason} /> : 'no task'),
  },
  {
    name: 'Task',
    look: 'wide-cell',
    cell: ({ task, taskId }) => (task ? <IdLink id={taskId} /> : 'missed, or not kept any more'),
  },
  { name: 'Error', look: 'bad isolated', cell: ({ task }) => task?.error?.message },
]

function PastTicks({ name }: { readonly name: string }) {
  const none = <p className="note soft">It has not ticked yet.</p>
  return (
    <Card title="Past ticks">
      <Pages of={useInfiniteQuery(ticksQuery(name))}>
        {ticks => <Table columns={COLUMNS} rows={ticks} keyOf={({ at }) => at} empty={none} />}
      </Pages>
    </Card>
  )
}
