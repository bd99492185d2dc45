import { useQuery } from '@tanstack/react-query'
import { Pencil, Plus, Zap } from 'lucide-react'
import { useEffect, useId, useRef, useState } from 'react'
import type { ApiSchedule, ScheduleBody } from '../../shared/api/schedules.ts'
import { baton, isStale } from '../api/baton.ts'
import { queries, scheduleQuery, schedulesQuery, typesQuery } from '../api/queries.ts'
import { Acting, ActionButton, Opener, PauseButton, useAction } from '../parts/controls.tsx'
import { Dialog, FormDialog } from '../parts/dialog.tsx'
import { duration, moment, SECONDS } from '../parts/format.ts'
import { EditDialog, JsonField } from '../parts/json.tsx'
import { Answer, Card, type Column, Empty, Failure, LastChange, Page, Table } from '../parts/page.tsx'
import { Name, TypeLink, When } from '../parts/text.tsx'
import { byDay, nextTicks } from './next-ticks.ts'

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
            <Empty title="There are no schedules yet">A schedule publishes a task at each tick.</Empty>
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
    cell: ({ name, paused, managedBy, lastError, operations }) => (
      <>
        <span className="cell-name">
          <Name mono={false}>{name}</Name>
          {paused && <span className="tag warn">paused</span>}
          {managedBy && <span className="tag">deployed</span>}
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

function ScheduleActions({ schedule }: { readonly schedule: ApiSchedule }) {
  const { name, paused, finishedAt, managedBy } = schedule
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
          done={paused ? `${name} ticks again` : `${name} is paused; ticks during the pause are missed`}
          changes={changes}
        />
      )}
      {managedBy === undefined && (
        <Opener
          icon={Pencil}
          aria-label={`Edit ${name}`}
          dialog={close => <EditSchedule name={name} onClose={close} />}
        />
      )}
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

const CLOCK = new Intl.DateTimeFormat('en-GB', { ...SECONDS, timeZoneName: 'short' })

const HINT =
  'One of cron, everyMs and at; timezone, missed and graceMs may be left out. task is what each tick publishes.'

/** Replaces a schedule. The list of schedules shows only the type of the task, so the whole one is read when the dialog opens. */
function EditSchedule({ name, onClose }: { readonly name: string; readonly onClose: () => void }) {
  const { data: schedule, error, refetch } = useQuery(scheduleQuery(name))
  if (schedule)
    return (
      <EditDialog
        thing={schedule}
        readAgain={() => queries.fetchQuery(scheduleQuery(name))}
        title={`Edit ${name}`}
        label="Schedule"
        hint={HINT}
        bodyOf={bodyOf}
        run={body => baton.putSchedule(name, body)}
        done={`${name} was changed`}
        changes={changesOf(name)}
        onClose={onClose}
      />
    )
  if (!error) return null
  return (
    <Dialog title={`Edit ${name}`} onClose={onClose}>
      <Failure error={error} onRetry={refetch} />
    </Dialog>
  )
}

const EXAMPLE = { cron: '0 3 * * *', timezone: 'UTC' }

/** A schedule that does not exist has this revision, so a request that expects it replaces none. */
const ABSENT_REVISION = 0

/**
 * Creates a schedule. A name that is taken is refused: by the form if the list has it, else by the API, which may know of one that
 * another person has just created.
 */
function NewSchedule({ type, onClose }: { readonly type: string; readonly onClose: () => void }) {
  const [body, setBody] = useState<ScheduleBody | undefined>({ ...EXAMPLE, task: { type } })
  const [name, setName] = useState('')
  const { data: schedules = [] } = useQuery(schedulesQuery)
  const [refused, setRefused] = useState<string>()
  const isTaken = name === refused || schedules.some(schedule => schedule.name === name)
  const put = useAction({
    run: (body: ScheduleBody) => baton.putSchedule(name, { ...body, ifRevision: ABSENT_REVISION }),
    done: 'The schedule was created',
    changes: changesOf(name),
    after: onClose,
    onRefused: error => {
      if (isStale(error)) setRefused(name)
    },
  })
  return (
    <FormDialog
      title="New schedule"
      action="Create"
      isReady={!put.isPending && !isTaken && body !== undefined}
      onSubmit={() => body !== undefined && put.mutate(body)}
      onClose={onClose}
    >
      <NameField
        name={name}
        onChange={setName}
        problem={isTaken ? `There is a schedule ${name} already. Edit it, or give another name.` : undefined}
      />
      <JsonField label="Schedule" first={body} onChange={setBody} rows={9} hint={HINT} />
    </FormDialog>
  )
}

type NameProps = {
  readonly name: string
  readonly onChange: (name: string) => void
  readonly problem: string | undefined
}

function NameField({ name, onChange, problem }: NameProps) {
  const id = useId()
  const input = useRef<HTMLInputElement>(null)
  useEffect(() => input.current?.setCustomValidity(problem ?? ''), [problem])
  return (
    <div className="field">
      <label htmlFor={id}>Name</label>
      <input
        ref={input}
        id={id}
        required
        maxLength={200}
        autoComplete="off"
        value={name}
        aria-invalid={problem !== undefined}
        aria-describedby={`${id}-note`}
        onChange={event => onChange(event.target.value)}
      />
      <p id={`${id}-note`} className="bad isolated">
        {problem}
      </p>
    </div>
  )
}

function changesOf(name: string) {
  return [['schedules'], ['schedule', name]]
}

/** The schedule in an answer, in the form in which a request gives it. */
function bodyOf({ cron, everyMs, at, timezone, missed, graceMs, task }: ApiSchedule): ScheduleBody {
  return {
    ...(cron !== undefined && { cron }),
    ...(everyMs !== undefined && { everyMs }),
    ...(at !== undefined && { at }),
    ...(cron !== undefined && timezone !== undefined && { timezone }),
    missed,
    graceMs,
    task,
  }
}
