import type { Command } from 'commander'
import type { ApiSchedule, ApiTick, ScheduleBody } from '../../shared/api/schedules.ts'
import { type Context, printPages, withSystem } from '../connection/with-system.ts'
import { factLines } from '../tasks/read.ts'
import { type DefineCommand, type Invocation, jsonArgument, refuseUnknownWord } from '../terminal/command.ts'
import type { Column } from '../terminal/printer.ts'
import { durationText, oneLine, relativeTime, safeJson } from '../terminal/style.ts'

/** `baton schedules ticks` shows at most this many: a schedule may have ticked for years. */
const TICKS_MAX = 100

type Act = (context: Context, name: string, ...more: string[]) => Promise<void>

/** `baton schedules`: a command for each operation; without one it lists them. */
export const schedules: DefineCommand = (command, invocation) => {
  const list = command
    .command('list', { isDefault: true })
    .description('lists all schedules, the next tick first')
  refuseUnknownWord(command, list)
  withSystem(list, invocation, context =>
    printPages(context, page => context.client.schedules(page), {
      columns: columnsOf(context),
      none: 'there are no schedules',
    }),
  )
  const put = onOne(command, invocation, 'put', 'creates or replaces a schedule', putSchedule)
  put.argument('<json>', 'cron, everyMs or at, and the task, as JSON; - reads it from the input')
  const answering =
    (call: 'schedule' | 'pauseSchedule' | 'resumeSchedule'): Act =>
    async (context, name) =>
      showOne(context, await context.client[call](name))
  onOne(command, invocation, 'show', 'shows a schedule', answering('schedule'))
  onOne(command, invocation, 'pause', 'pauses a schedule', answering('pauseSchedule'))
  onOne(command, invocation, 'resume', 'ends the pause of a schedule', answering('resumeSchedule'))
  onOne(command, invocation, 'trigger', 'publishes the task now, in addition to the ticks', trigger)
  onOne(
    command,
    invocation,
    'ticks',
    'lists the past ticks with their tasks, newest first',
    (context, name) => {
      const listing = { columns: tickColumns(context), none: 'there was no tick', limit: TICKS_MAX }
      return printPages(context, page => context.client.ticks(name, page), listing)
    },
  )
  onOne(command, invocation, 'remove', 'removes a schedule; its tasks stay', removeSchedule)
}

function onOne(
  command: Command,
  invocation: Invocation,
  verb: string,
  description: string,
  act: Act,
): Command {
  const one = command.command(verb).description(description)
  one.helpOption('-h, --help', 'shows this help').argument('<name>', 'the name of a schedule')
  withSystem(one, invocation, (context, _options: object, name: string, ...more: string[]) =>
    act(context, name, ...more),
  )
  return one
}

const putSchedule: Act = async (context, name, json = '') => {
  const body = (await jsonArgument(json, 'the schedule', context.io.input)) as ScheduleBody
  return showOne(context, await context.client.putSchedule(name, body))
}

const trigger: Act = async ({ client, printer }, name) => {
  const answer = await client.triggerSchedule(name)
  printer.answer(answer, `${printer.style.bold(oneLine(answer.taskId))} published`)
}

const removeSchedule: Act = async ({ client, printer }, name) => {
  await client.removeSchedule(name)
  printer.answer({ name, removed: true }, `${printer.style.bold(oneLine(name))} removed`)
}

function tickColumns({ printer: { style } }: Context): Array<Column<ApiTick>> {
  return [
    { title: 'TICK', value: ({ at }) => at },
    { title: 'TASK', value: ({ taskId }) => taskId, paint: style.bold },
    { title: 'STATUS', value: ({ task }) => task?.status ?? 'no task', paint: style.status },
  ]
}

function columnsOf({ printer: { style, now } }: Context): Array<Column<ApiSchedule>> {
  return [
    { title: 'SCHEDULE', value: ({ name }) => name, paint: style.bold },
    { title: 'WHEN', value: whenText },
    { title: 'TYPE', value: ({ task }) => task.type },
    { title: 'STATE', value: stateText },
    { title: 'NEXT', value: ({ nextRunAt }) => relativeTime(nextRunAt, now()) },
    { title: 'LAST', value: ({ lastRunAt }) => relativeTime(lastRunAt, now()) },
    { title: 'LAST ERROR', value: ({ lastError }) => lastError?.message, paint: style.red, mayShrink: true },
  ]
}

/** `0 3 * * * Europe/Berlin`, `every 5 min`, or the only time. */
function whenText({ cron, everyMs, at, timezone }: ApiSchedule): string {
  if (cron !== undefined) return [cron, timezone].filter(text => text !== undefined).join(' ')
  return everyMs === undefined ? (at ?? '') : `every ${durationText(everyMs)}`
}

function stateText({ paused, finishedAt }: ApiSchedule): string {
  if (finishedAt !== undefined) return 'ended'
  return paused ? 'paused' : 'active'
}

/** `skip`, or how many are caught up on. */
function missedText({ missed }: ApiSchedule): string {
  return typeof missed === 'string' ? oneLine(missed) : safeJson(missed)
}

function showOne({ printer }: Context, schedule: ApiSchedule): void {
  const { style, now } = printer
  const at = (time: string | undefined) => time && `${time}  ${style.dim(relativeTime(time, now()))}`
  const facts = [
    ['schedule', style.bold(oneLine(schedule.name))],
    ['when', oneLine(whenText(schedule))],
    ['state', stateText(schedule)],
    ['kept by', schedule.managedBy && `the deployment of ${oneLine(schedule.managedBy)}`],
    ['next', at(schedule.nextRunAt)],
    ['last', at(schedule.lastRunAt)],
    ['missed ticks', missedText(schedule)],
    ['task', safeJson(schedule.task)],
    ['last error', schedule.lastError && style.red(oneLine(schedule.lastError.message))],
  ] as const
  printer.answer(schedule, ...factLines(facts, style))
}
