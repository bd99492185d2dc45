import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Pause, Pencil, Play, Plus, Zap } from 'lucide-react'
import { useState } from 'react'
import type { ApiSchedule } from '../../shared/api/schedules.ts'
import { baton } from '../api/baton.ts'
import { schedulesQuery, typesQuery } from '../api/queries.ts'
import { useAction } from '../parts/action.tsx'
import { Acting, Button } from '../parts/button.tsx'
import { duration, moment } from '../parts/format.ts'
import { Empty, Failure, Loading } from '../parts/notes.tsx'
import { LastChange } from '../parts/operations.tsx'
import { Card, Page } from '../parts/page.tsx'
import { Name, When } from '../parts/text.tsx'
import { byDay, nextTicks } from './next-ticks.ts'
import { EditSchedule, NewSchedule } from './schedule-dialog.tsx'

/** All schedules, ordered by their next tick. */
export function SchedulesPage() {
  const { data: schedules, error, refetch } = useQuery(schedulesQuery)
  const { data: types = [] } = useQuery(typesQuery)
  const [isCreating, setCreating] = useState(false)
  return (
    <Page
      title="Schedules"
      actions={
        <Button look="accent" onClick={() => setCreating(true)}>
          <Plus size={15} aria-hidden /> New schedule
        </Button>
      }
    >
      {schedules?.length === 0 && (
        <Empty title="There are no schedules yet">
          A schedule publishes a task at each tick: PUT /v1/schedules/NAME creates one.
        </Empty>
      )}
      {schedules && schedules.length > 0 && (
        <div className="stack">
          <Card>
            <Schedules schedules={schedules} />
          </Card>
          <Calendar schedules={schedules} />
        </div>
      )}
      {!schedules && error && <Failure error={error} onRetry={refetch} />}
      {!schedules && !error && <Loading />}
      {isCreating && <NewSchedule type={types[0]?.type ?? ''} onClose={() => setCreating(false)} />}
    </Page>
  )
}

function Schedules({ schedules }: { readonly schedules: readonly ApiSchedule[] }) {
  return (
    <div className="table-frame">
      <table>
        <thead>
          <tr>
            <th scope="col">Schedule</th>
            <th scope="col">Ticks</th>
            <th scope="col">Task</th>
            <th scope="col">Last run</th>
            <th scope="col">Next tick</th>
            <th scope="col">
              <span className="visually-hidden">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {schedules.map(schedule => (
            <ScheduleRow key={schedule.name} schedule={schedule} />
          ))}
        </tbody>
      </table>
    </div>
  )
}

function ScheduleRow({ schedule }: { readonly schedule: ApiSchedule }) {
  const { name, task, lastRunAt, nextRunAt, lastError, paused } = schedule
  return (
    <tr>
      <td>
        <span className="cell-name">
          <Name mono={false}>{name}</Name>
          {paused && <span className="tag warn">paused</span>}
        </span>
        {lastError && <span className="bad isolated">{lastError.message}</span>}
        <LastChange operations={schedule.operations} />
      </td>
      <td className="soft wide-cell" data-label="Ticks">
        {ticksText(schedule)}
      </td>
      <td data-label="Task">
        <Link to="/types/$type" params={{ type: task.type }}>
          <Name mono={false}>{task.type}</Name>
        </Link>
      </td>
      <td className="soft" data-label="Last run">
        <When at={lastRunAt} />
      </td>
      <td data-label="Next tick">
        <When at={nextRunAt} />
      </td>
      <td className="action-cell">
        <Acting>
          <ScheduleActions schedule={schedule} />
        </Acting>
      </td>
    </tr>
  )
}

function ticksText({ cron, timezone, everyMs, at }: ApiSchedule): string {
  if (cron !== undefined) return timezone === undefined ? `${cron} (UTC)` : `${cron} (${timezone})`
  return everyMs === undefined ? `once, ${moment(at ?? '')}` : `every ${duration(everyMs)}`
}

function ScheduleActions({ schedule: { name, paused, finishedAt } }: { readonly schedule: ApiSchedule }) {
  const trigger = useAction({
    run: () => baton.triggerSchedule(name),
    done: ({ taskId }) => `${taskId} was published`,
    changes: [['schedules'], ['schedule', name], ['tasks'], ['counts']],
  })
  const change = useAction({
    run: () => (paused ? baton.resumeSchedule(name) : baton.pauseSchedule(name)),
    done: paused ? `${name} ticks again` : `${name} is paused; ticks in the pause are missed`,
    changes: [['schedules'], ['schedule', name]],
  })
  const [isEditing, setEditing] = useState(false)
  return (
    <span className="cell-actions">
      <Button onClick={() => trigger.mutate()} disabled={trigger.isPending}>
        <Zap size={14} aria-hidden /> Run now
      </Button>
      {finishedAt === undefined && (
        <Button onClick={() => change.mutate()} disabled={change.isPending}>
          {paused ? <Play size={14} aria-hidden /> : <Pause size={14} aria-hidden />}
          {paused ? 'Resume' : 'Pause'}
        </Button>
      )}
      <Button onClick={() => setEditing(true)} aria-label={`Edit ${name}`}>
        <Pencil size={14} aria-hidden />
      </Button>
      {isEditing && <EditSchedule name={name} onClose={() => setEditing(false)} />}
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
                    <Link to="/types/$type" params={{ type }}>
                      <Name mono={false}>{type}</Name>
                    </Link>
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
