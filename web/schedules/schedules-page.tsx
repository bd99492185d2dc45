import { useQuery } from '@tanstack/react-query'
import { Pencil, Plus, Zap } from 'lucide-react'
import type { ApiSchedule } from '../../shared/api/schedules.ts'
import { baton } from '../api/baton.ts'
import { schedulesQuery, typesQuery } from '../api/queries.ts'
import { ActionButton, PauseButton } from '../parts/action.tsx'
import { Acting, Opener } from '../parts/button.tsx'
import { duration, moment } from '../parts/format.ts'
import { Answer, Card, type Column, Empty, LastChange, Page, Table } from '../parts/page.tsx'
import { Name, TypeLink, When } from '../parts/text.tsx'
import { byDay, nextTicks } from './next-ticks.ts'
import { EditSchedule, NewSchedule } from './schedule-dialog.tsx'

/** All schedules, ordered by their next tick. */
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
        {schedules =>
          schedules.length === 0 ? (
            <Empty title="There are no schedules yet">
              A schedule publishes a task at each tick: PUT /v1/schedules/NAME creates one.
            </Empty>
          ) : (
            <div className="stack">
              <Card>
                <Table columns={COLUMNS} rows={schedules} keyOf={({ name }) => name} />
              </Card>
              <Calendar schedules={schedules} />
            </div>
          )
        }
      </Answer>
    </Page>
  )
}

const COLUMNS: ReadonlyArray<Column<ApiSchedule>> = [
  {
    name: 'Schedule',
    cell: ({ name, paused, lastError, operations }) => (
      <>
        <span className="cell-name">
          <Name mono={false}>{name}</Name>
          {paused && <span className="tag warn">paused</span>}
        </span>
        {lastError && <span className="bad isolated">{lastError.message}</span>}
        <LastChange operations={operations} />
      </>
    ),
  },
  { name: 'Ticks', look: 'soft wide-cell', cell: ticksText },
  { name: 'Task', cell: ({ task }) => <TypeLink type={task.type} /> },
  { name: 'Last run', look: 'soft', cell: ({ lastRunAt }) => <When at={lastRunAt} /> },
  { name: 'Next tick', cell: ({ nextRunAt }) => <When at={nextRunAt} /> },
  {
    name: 'Actions',
    kind: 'actions',
    cell: schedule => (
      <Acting>
        <ScheduleActions schedule={schedule} />
      </Acting>
    ),
  },
]

function ticksText({ cron, timezone = 'UTC', everyMs, at }: ApiSchedule): string {
  if (cron !== undefined) return `${cron} (${timezone})`
  return everyMs === undefined ? `once, ${moment(at ?? '')}` : `every ${duration(everyMs)}`
}

function ScheduleActions({ schedule: { name, paused, finishedAt } }: { readonly schedule: ApiSchedule }) {
  const changes = [['schedules'], ['schedule', name]]
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
          done={paused ? `${name} ticks again` : `${name} is paused; ticks in the pause are missed`}
          changes={changes}
        />
      )}
      <Opener
        icon={Pencil}
        aria-label={`Edit ${name}`}
        dialog={close => <EditSchedule name={name} onClose={close} />}
      />
    </span>
  )
}

const TICKS_SHOWN = 24

/** The next ticks of all schedules, day by day. */
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
                  <Name mono={false}>{name}</Name>
                  <span className="faint">
                    <TypeLink type={type} />
                  </span>
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

const CLOCK = new Intl.DateTimeFormat('en-GB', {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  timeZoneName: 'short',
})
