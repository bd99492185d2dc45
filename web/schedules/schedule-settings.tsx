import { useQuery } from '@tanstack/react-query'
import { useEffect, useId, useMemo, useRef, useState } from 'react'
import { type ApiSchedule, type ScheduleBody, scheduleBody } from '../../shared/api/schedules.ts'
import { defined, type FieldProblem } from '../../shared/core/values/values.ts'
import { timingProblems } from '../../shared/cron/cron-ticks.ts'
import { baton, isStale } from '../api/baton.ts'
import { queries, scheduleQuery, schedulesQuery, typesQuery } from '../api/queries.ts'
import { useAction } from '../parts/controls.tsx'
import { Dialog, FormDialog } from '../parts/dialog.tsx'
import { moment } from '../parts/format.ts'
import { Failure } from '../parts/page.tsx'
import { InputFields } from '../publish/publish-dialog.tsx'
import { type Field, formOf, type JsonSchema, type JsonValue } from '../publish/schema.ts'
import { SchemaForm } from '../publish/schema-form.tsx'
import { EditDialog, Sentences, Settings } from '../settings/edit-dialog.tsx'
import { scheduleSentences } from '../settings/sentences.ts'
import { only, useSettingsSchema } from '../settings/settings.ts'
import { ticksAfter } from './next-ticks.ts'

const HINT =
  'One of cron, everyMs and at; timezone, missed and graceMs may be left out. task is what each tick publishes.'

type Change = (body: ScheduleBody) => void

/** What both dialogs about a schedule show. Undefined until the fields are known. */
function useScheduleSettings(createdAt: string | undefined) {
  const schema = useSettingsSchema('ScheduleBody')
  const taskSchema = useSettingsSchema('ScheduledTask')
  if (schema === undefined || taskSchema === undefined) return undefined
  return {
    label: 'Schedule',
    hint: HINT,
    form:
      schema && taskSchema
        ? (body: ScheduleBody | undefined, onChange: Change) =>
            body && <ScheduleForm schema={schema} taskSchema={taskSchema} body={body} onChange={onChange} />
        : undefined,
    problemsOf: scheduleProblems,
    preview: (body: ScheduleBody) => <Preview body={body} createdAt={createdAt} />,
  }
}

function scheduleProblems(body: ScheduleBody): readonly FieldProblem[] {
  const problems = scheduleBody.problems(body, '')
  return problems.length > 0 ? problems : timingProblems(body, Date.now())
}

type FormProps = {
  readonly schema: JsonSchema
  readonly taskSchema: JsonSchema
  readonly body: ScheduleBody
  readonly onChange: Change
}

function ScheduleForm({ schema, taskSchema, body, onChange }: FormProps) {
  const { data: types = [] } = useQuery(typesQuery)
  const fields = useMemo(() => fieldsOf(schema, taskSchema), [schema, taskSchema])
  const { cron, everyMs, at, timezone, ...rest } = body
  const { task } = body
  const { inputSchema } = types.find(({ type }) => type === task.type) ?? {}
  const change = (more: unknown) => onChange({ ...body, ...(more as Partial<ScheduleBody>) })
  return (
    <>
      {fields.timing && (
        <SchemaForm
          field={fields.timing}
          value={defined({ cron, everyMs, at, timezone }) as JsonValue}
          onChange={changed => onChange({ ...rest, ...(changed as object) })}
        />
      )}
      <label className="field">
        Type of its task
        <select
          required
          value={task.type}
          onChange={({ target }) => change({ task: { ...task, type: target.value, input: undefined } })}
        >
          {[...new Set([task.type, ...types.map(({ type }) => type)])].map(name => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      </label>
      <InputFields
        key={`${task.type} ${inputSchema !== undefined}`}
        schema={inputSchema}
        given={task.input as JsonValue | undefined}
        path="task.input"
        onChange={input => change({ task: { ...task, input } })}
      />
      {fields.missed && <SchemaForm field={fields.missed} value={body as JsonValue} onChange={change} />}
      <details>
        <summary>Options of its task</summary>
        <div className="stack">
          {fields.task && (
            <SchemaForm
              field={fields.task}
              path="task"
              value={task as JsonValue}
              onChange={changed => change({ task: changed })}
            />
          )}
        </div>
      </details>
    </>
  )
}

type Fields = Readonly<Record<'timing' | 'missed' | 'task', Field | undefined>>

function fieldsOf(schedule: JsonSchema, task: JsonSchema): Fields {
  const way = (title: string, names: readonly string[]) => ({
    ...only(schedule, names),
    ...{ title, required: names.slice(0, 1), description: undefined },
  })
  const ways = [
    way('By a cron expression', ['cron', 'timezone']),
    way('At an interval', ['everyMs']),
    way('Once', ['at']),
  ]
  const members = Object.keys((task.properties ?? {}) as object)
  return {
    timing: formOf({ title: 'When it ticks', anyOf: ways }),
    missed: formOf({ ...only(schedule, ['missed', 'graceMs']), required: [] }),
    task: formOf({
      ...only(
        task,
        members.filter(name => !['type', 'input'].includes(name)),
      ),
      required: [],
    }),
  }
}

type PreviewProps = { readonly body: ScheduleBody; readonly createdAt: string | undefined }

/** When the schedule ticks next, and what becomes of missed ticks. */
function Preview({ body, createdAt }: PreviewProps) {
  const [now] = useState(() => Date.now())
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

type EditProps = { readonly name: string; readonly onClose: () => void }

/** Replaces a schedule. The list of schedules shows only the type of the task, so the whole one is read when the dialog opens. */
export function EditSchedule({ name, onClose }: EditProps) {
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

/** The answers that a change of the schedule changes. */
export function changesOf(name: string) {
  return [['schedules'], ['schedule', name], ['ticks', name]]
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

const EXAMPLE = { cron: '0 3 * * *', timezone: 'UTC' }

/** A schedule that does not exist has this revision, so a request that expects it replaces none. */
const ABSENT_REVISION = 0

/**
 * Creates a schedule. A name that is taken is refused: by the form if the list has it, else by the API, which may know of one that
 * another person has just created.
 */
export function NewSchedule({ type, onClose }: { readonly type: string; readonly onClose: () => void }) {
  const [first] = useState<ScheduleBody>({ ...EXAMPLE, task: { type } })
  const [body, setBody] = useState<ScheduleBody | undefined>(first)
  const [name, setName] = useState('')
  const { data: schedules = [] } = useQuery(schedulesQuery)
  const [refused, setRefused] = useState<string>()
  const isTaken = name === refused || schedules.some(schedule => schedule.name === name)
  const settings = useScheduleSettings(undefined)
  const put = useAction({
    run: (body: ScheduleBody) => baton.putSchedule(name, { ...body, ifRevision: ABSENT_REVISION }),
    done: 'The schedule was created',
    changes: changesOf(name),
    after: onClose,
    onRefused: error => isStale(error) && setRefused(name),
  })
  if (!settings) return null
  return (
    <FormDialog
      title="New schedule"
      action="Create"
      isReady={!put.isPending && !isTaken && body !== undefined && scheduleProblems(body).length === 0}
      onSubmit={() => body !== undefined && put.mutate(body)}
      onClose={onClose}
    >
      <NameField
        name={name}
        onChange={setName}
        problem={isTaken ? `There is a schedule ${name} already. Edit it, or give another name.` : undefined}
      />
      <Settings
        {...settings}
        first={first}
        body={body}
        refused={put.variables === body ? put.error : undefined}
        onChange={setBody}
      />
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
