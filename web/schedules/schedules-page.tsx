import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Plus, Zap } from 'lucide-react'
import type { ApiSchedule } from '../../shared/api/schedules.ts'
import { baton } from '../api/baton.ts'
import { schedulesQuery, typesQuery } from '../api/queries.ts'
import { ActionButton, Opener, PauseButton } from '../parts/controls.tsx'
import { SECONDS } from '../parts/format.ts'
import { Answer, Card, Empty, LastChange, Page } from '../parts/page.tsx'
import { type Column, Table } from '../parts/table.tsx'
import { Name, TypeLink, When } from '../parts/text.tsx'
import { timingText } from '../settings/sentences.ts'
import { byDay, nextTicks } from './next-ticks.ts'
import { changesOf, NewSchedule } from './schedule-settings.tsx'

export function SchedulesPage() {
  const { data: types = [] } = useQuery(typesQuery)
  return (
    <Page
      title="Schedules"
      actions={
        <Opener
          look="accent"
          icon={Plus}
          iconSize={15}
          text="New schedule"
          dialog={close => <NewSchedule type={types[0]?.type ?? ''} onClose={close} />}
        />
      }
    >
      <Answer of={useQuery(schedulesQuery)}>
        {schedules => (
          <div className="stack">
            <Card>
              <Table columns={COLUMNS} rows={schedules} keyOf={({ name }) => name} empty={NONE} />
            </Card>
            {schedules.length > 0 && <Calendar schedules={schedules} />}
          </div>
        )}
      </Answer>
    </Page>
  )
}

const NONE = <Empty title="There are no schedules yet">A schedule publishes a task at each tick.</Empty>

const COLUMNS: ReadonlyArray<Column<ApiSchedule>> = [
  {
    name: 'Schedule',
    cell: ({ name, paused, managedBy, lastError, operations }) => (
      <>
        <span className="cell-name">
          <ScheduleLink name={name} />
          {paused && <span className="tag warn">paused</span>}
          {managedBy && <span className="tag">deployed</span>}
        </span>
        {lastError && <span className="bad isolated">{lastError.message}</span>}
        <LastChange operations={operations} />
      </>
    ),
  },
  { name: 'Ticks', look: 'soft wide-cell', cell: schedule => timingText(schedule) },
  {
    name: 'Task',
    look: 'wide-cell',
    cell: ({ task }) => (
      <span className="cell-name">
        <TypeLink type={task.type} className="cut" />
      </span>
    ),
  },
  { name: 'Last run', look: 'soft', cell: ({ lastRunAt }) => <When at={lastRunAt} /> },
  { name: 'Next tick', cell: ({ nextRunAt }) => <When at={nextRunAt} /> },
  { name: 'Actions', kind: 'actions', cell: schedule => <ScheduleActions schedule={schedule} /> },
]

function ScheduleLink({ name }: { readonly name: string }) {
  return (
    <Link to="/schedules/$name" params={{ name }} className="cut">
      <Name mono={false}>{name}</Name>
    </Link>
  )
}

/** What can be done at any time: publish the task now, pause and resume. */
export function ScheduleActions({ schedule }: { readonly schedule: ApiSchedule }) {
  const { name, paused, finishedAt } = schedule
  const changes = changesOf(name)
  return (
    <span className="cell-actions">
      <ActionButton
        icon={Zap}
        text="Run now"
        run={() => baton.triggerSchedule(name)}
        done={({ taskId }) => `${taskId} was published`}
        changes={[...changes, ['tasks'], ['counts']]}
      />
      {finishedAt === undefined && (
        <PauseButton
          isPaused={paused}
          run={() => (paused ? baton.resumeSchedule(name) : baton.pauseSchedule(name))}
          done={paused ? `${name} ticks again` : `${name} is paused; ticks during the pause are missed`}
          changes={changes}
        />
      )}
    </span>
  )
}

const TICKS_SHOWN = 24

function Calendar({ schedules }: { readonly schedules: readonly ApiSchedule[] }) {
  const ticks = nextTicks(schedules, TICKS_SHOWN)
  return (
    <Card title="Next ticks">
      {ticks.length === 0 && <p className="note soft">No tick is to come.</p>}
      {byDay(ticks).map(([day, ofDay]) => (
        <div key={day} className="calendar">
          <p className="calendar-day">{day}</p>
          <ol>
            {ofDay.map(({ name, type, at }) => (
              <li key={`${name} ${at}`}>
                <time dateTime={new Date(at).toISOString()} className="mono">
                  {CLOCK.format(at)}
                </time>
                <span className="cell-name">
                  <ScheduleLink name={name} />
                  <TypeLink type={type} className="cut faint" />
                </span>
                <span className="faint">
                  <When at={new Date(at).toISOString()} />
                </span>
              </li>
            ))}
          </ol>
        </div>
      ))}
    </Card>
  )
}

const CLOCK = new Intl.DateTimeFormat('en-GB', { ...SECONDS, timeZoneName: 'short' })
