import { useQuery } from '@tanstack/react-query'
import { type ApiSchedule, type ScheduleBody, scheduleBody } from '../../shared/api/schedules.ts'
import type { FieldProblem } from '../../shared/core/values/values.ts'
import { timingProblems } from '../../shared/cron/cron-ticks.ts'
import { baton } from '../api/baton.ts'
import { queries, scheduleQuery, schedulesQuery, typesQuery } from '../api/queries.ts'
import { Dialog } from '../parts/dialog.tsx'
import { moment } from '../parts/format.ts'
import { Failure } from '../parts/page.tsx'
import type { JsonSchema } from '../publish/schema.ts'
import { EditDialog, Sentences, useSchemas } from '../settings/edit-dialog.tsx'
import { scheduleSentences } from '../settings/sentences.ts'
import { only, pick } from '../settings/settings.ts'
import { ticksAfter } from './next-ticks.ts'

/** Replaces a schedule. The list of schedules shows only the type of the task, so the whole one is read when the dialog opens. */
export function EditSchedule({ name, onClose }: { readonly name: string; readonly onClose: () => void }) {
  const { data: schedule, error, refetch } = useQuery(scheduleQuery(name))
  const settings = useScheduleSettings(schedule?.createdAt)
  if (schedule && settings)
    return (
      <EditDialog
        {...settings}
        thing={schedule}
        readAgain={() => queries.fetchQuery(scheduleQuery(name))}
        title={`Edit ${name}`}
        bodyOf={bodyOf}
        problemsOf={scheduleProblems}
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

type NewBody = ScheduleBody & { readonly name: string }

/** A schedule that does not exist has this revision, so a request that expects it replaces none. */
const ABSENT = { revision: 0 }

/** Creates a schedule. A name that is taken is refused: by the form if the list has it, else by the API. */
export function NewSchedule({ type, onClose }: { readonly type: string; readonly onClose: () => void }) {
  const { data: schedules = [] } = useQuery(schedulesQuery)
  const settings = useScheduleSettings(undefined)
  if (!settings) return null
  return (
    <EditDialog
      {...settings}
      thing={ABSENT}
      readAgain={async () => ABSENT}
      title="New schedule"
      action="Create"
      bodyOf={(): NewBody => ({ name: '', cron: '0 3 * * *', timezone: 'UTC', task: { type } })}
      problemsOf={({ name, ...body }) => [
        ...scheduleProblems(body),
        ...(name === '' ? [{ path: 'name', message: 'is required' }] : []),
        ...(schedules.some(one => one.name === name)
          ? [{ path: 'name', message: `is taken: there is a schedule ${name} already. Edit it` }]
          : []),
      ]}
      run={({ name, ...body }) => baton.putSchedule(name, body)}
      done="The schedule was created"
      changes={changesOf()}
      onClose={onClose}
    />
  )
}

function useScheduleSettings(createdAt: string | undefined) {
  const schemas = useSchemas()
  const { data: types } = useQuery(typesQuery)
  if (!schemas || !types) return undefined
  const { ScheduleBody: whole, ScheduledTask: task } = schemas
  return {
    label: 'Schedule',
    hint: 'One of cron, everyMs and at; timezone, missed and graceMs may be left out. task is what each tick publishes.',
    schemaOf: (body: ScheduleBody) => {
      const { inputSchema } = types.find(({ type }) => type === body.task.type) ?? {}
      const known = {
        ...Object(task?.properties),
        type: { title: 'Type', enum: types.map(({ type }) => type) },
      }
      const input = inputSchema && { input: { title: 'Input', ...inputSchema } }
      return whole && formSchema(whole, { ...task, properties: { ...known, ...input } }, 'name' in body)
    },
    preview: (body: ScheduleBody) => <Preview body={body} createdAt={createdAt} />,
  }
}

/** One variant for each way in which a schedule can tick. */
function formSchema(whole: JsonSchema, task: JsonSchema, isNew: boolean): JsonSchema {
  const name = isNew ? { name: { type: 'string', title: 'Name', maxLength: 200 } } : {}
  const variant = (title: string, first: string, ...names: readonly string[]) => {
    const { properties } = only(whole, [first, ...names, 'missed', 'graceMs'])
    return {
      ...{ type: 'object', title, required: ['name', first, 'task'] },
      properties: { ...name, ...Object(properties), task: { ...task, title: 'Task of each tick' } },
    }
  }
  const ways = [variant('by a cron expression', 'cron', 'timezone'), variant('at an interval', 'everyMs')]
  return { title: 'Ticks', anyOf: [...ways, variant('once', 'at')] }
}

function scheduleProblems(body: ScheduleBody): readonly FieldProblem[] {
  const problems = scheduleBody.problems(body, '')
  return problems.length > 0 ? problems : timingProblems(body, Date.now())
}

type PreviewProps = { readonly body: ScheduleBody; readonly createdAt: string | undefined }

/** When the schedule ticks next, and what becomes of missed ticks. */
function Preview({ body, createdAt }: PreviewProps) {
  const now = Date.now()
  const ticks = ticksAfter(body, createdAt === undefined ? now : Date.parse(createdAt), now)
  return (
    <>
      <Sentences of={scheduleSentences(body)} />
      <p>{ticks.length === 0 ? 'No tick is to come.' : 'The next ticks, in your time zone:'}</p>
      <ol className="ticks">
        {ticks.map(at => (
          <li key={at}>{moment(new Date(at).toISOString())}</li>
        ))}
      </ol>
    </>
  )
}

export function changesOf(name = '') {
  return [['schedules'], ['schedule', name], ['ticks', name]]
}

/** The schedule in an answer, in the form in which a request gives it. */
function bodyOf(schedule: ApiSchedule): ScheduleBody {
  const timing = schedule.cron === undefined ? ['everyMs', 'at'] : ['cron', 'timezone']
  return pick(schedule, [...timing, 'missed', 'graceMs', 'task']) as ScheduleBody
}
