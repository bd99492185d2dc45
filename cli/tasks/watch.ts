import { setTimeout as sleep } from 'node:timers/promises'
import type { TaskLog } from '../../shared/api/diagnosis/why.ts'
import type { ApiTask } from '../../shared/api/tasks.ts'
import type { ApiType, Counts } from '../../shared/api/types.ts'
import { isOutage } from '../../shared/client/outage.ts'
import { ENDED_STATUSES } from '../../shared/core/states.ts'
import { type Context, withSystem } from '../connection/with-system.ts'
import { type DefineCommand, durationOption } from '../terminal/command.ts'
import { FAILED_EXIT_CODE } from '../terminal/io.ts'
import { createLiveView, tableLines } from '../terminal/printer.ts'
import { clockText, oneLine, safeLines } from '../terminal/style.ts'
import { contentLines, errorText, taskColumns, taskLines } from './read.ts'

type WatchOptions = { readonly interval: number }

const WATCH_INTERVAL_MS = 1_000

/**
 * `baton watch`: a task or a flow until its end, or a type until the user interrupts. On a terminal it draws in place, otherwise it
 * prints a line for each change.
 */
export const watch: DefineCommand = (command, invocation) => {
  command
    .argument('<id>', 'the id of a task, such as resize:img-1, or the name of a type')
    .addOption(durationOption('--interval <duration>', 'how often it looks', WATCH_INTERVAL_MS))
  withSystem(command, invocation, (context, { interval }: WatchOptions, id: string) =>
    // The name of a type has no colon.
    id.includes(':') ? watchTask(context, id, interval) : watchType(context, id, interval),
  )
}

/** Shows a task until its end. Returns the exit code: 1 when it did not succeed. */
async function watchTask(context: Context, id: string, intervalMs: number): Promise<number> {
  const { client, printer, io, followUp } = context
  const last = await follow(context, {
    read: () => client.get(id),
    picture: task => {
      const viewing = { style: printer.style, now: io.now(), columns: io.out.columns, followUp }
      return [...taskLines(task, viewing), ...(isOver(task) ? contentLines(task, viewing) : [])]
    },
    line: taskLine,
    isOver,
    intervalMs,
  })
  return last === undefined || last.status === 'succeeded' ? 0 : FAILED_EXIT_CODE
}

function isOver({ finishedAt }: ApiTask): boolean {
  return finishedAt !== undefined
}

/** `order:42 running (…), step charge, run 2 by w1: {"percent": 40}`. */
function taskLine({ id, status, statusReason, direction, step, runs, error }: ApiTask): string {
  const run = runs.findLast(({ state }) => state === 'running')
  const parts = [
    `${id} ${status}${statusReason ? ` (${statusReason})` : ''}`,
    step && `step ${direction === 'undo' ? 'undo ' : ''}${step}`,
    run && `run ${run.fence} by ${run.workerId}`,
    run?.progress !== undefined && `progress ${JSON.stringify(run.progress)}`,
    errorText(error),
  ]
  return oneLine(parts.filter(part => typeof part === 'string' && part !== '').join(', '))
}

/** The tasks of each part of the picture. */
const SHOWN_TASKS = 8

type State = {
  readonly type: ApiType
  readonly counts: Counts
  readonly running: readonly ApiTask[]
  readonly ended: readonly ApiTask[]
}

/** Shows a type's counts, its running tasks and those that ended last, until the user interrupts. */
async function watchType(context: Context, type: string, intervalMs: number): Promise<number> {
  await follow<State>(context, {
    read: () => readState(context, type),
    picture: state => pictureOf(context, state),
    line: ({ type, counts }) =>
      oneLine(`${type.type}${type.paused ? ' (paused)' : ''}: ${countsText(counts)}`),
    isOver: () => false,
    intervalMs,
  })
  return 0
}

async function readState({ client }: Context, type: string): Promise<State> {
  const [shown, counts, running, ended] = await Promise.all([
    client.type(type),
    client.counts(type),
    client.listPage({ type, status: ['running', 'compensating'], order: 'due', limit: SHOWN_TASKS }),
    client.listPage({ type, status: ENDED_STATUSES, order: '-ended', limit: SHOWN_TASKS }),
  ])
  return { type: shown, counts, running: running.items, ended: ended.items }
}

function pictureOf({ printer, io }: Context, { type, counts, running, ended }: State): string[] {
  const { style } = printer
  const table = (title: string, tasks: readonly ApiTask[]) => {
    const lines = tableLines(taskColumns(printer), tasks, { style, columns: io.out.columns })
    return tasks.length === 0 ? [] : ['', style.bold(title), ...lines]
  }
  return [
    `${style.bold(oneLine(type.type))}${type.paused ? style.yellow(' paused') : ''}  ${style.dim(clockText(io.now()))}`,
    countsText(counts, style.status),
    ...table('Running', running),
    ...table('Ended last', ended),
  ]
}

/** `3 ready, 2 running`: the counts that are not 0. */
function countsText(counts: Counts, paint: (status: string) => string = status => status): string {
  const shown = Object.entries(counts).filter(([, count]) => count > 0)
  return shown.map(([status, count]) => `${count} ${paint(status)}`).join(', ') || 'no tasks'
}

type Watched<State> = {
  read(): Promise<State>
  /** The whole picture, which a terminal shows in place. */
  picture(state: State): readonly string[]
  /** What a line without a terminal says. A line that is the same as the last one is left out. */
  line(state: State): string
  isOver(state: State): boolean
  readonly intervalMs: number
}

/** Reads and shows a state again and again until it is over. Returns the last state; undefined when the user interrupted it. */
export async function follow<State>(context: Context, watched: Watched<State>): Promise<State | undefined> {
  const { io } = context
  const show = shower(context, watched)
  io.signal.addEventListener('abort', show.end, { once: true })
  try {
    for (
      let state = await watched.read();
      !io.signal.aborted;
      state = await nextState(context, watched, state)
    ) {
      show.state(state)
      if (watched.isOver(state)) return state
    }
    return undefined
  } finally {
    io.signal.removeEventListener('abort', show.end)
    show.end()
  }
}

/** Reads the next state after a pause. While the system does not answer, the last state stays. */
async function nextState<State>(
  { io, printer }: Context,
  watched: Pick<Watched<State>, 'read' | 'intervalMs'>,
  last: State,
): Promise<State> {
  await sleep(watched.intervalMs, undefined, { signal: io.signal }).catch(() => {})
  if (io.signal.aborted) return last
  return watched.read().catch(error => {
    if (!isOutage(error)) throw error
    printer.note(`no answer, trying again: ${error.problem.detail}`)
    return last
  })
}

function shower<State>({ io, printer }: Context, { picture, line }: Watched<State>) {
  const view = createLiveView(io.out)
  let last = ''
  const showOnce = (text: string, print: () => void) => {
    if (text !== last) print()
    last = text
  }
  return {
    state: (state: State) => {
      if (printer.isJson) showOnce(JSON.stringify(state), () => printer.record(state))
      else if (io.out.isTTY) view.draw(picture(state))
      else {
        const text = line(state)
        showOnce(text, () => printer.line(`${clockText(io.now())}  ${text}`))
      }
    },
    end: () => view.end(),
  }
}

type LogsOptions = { readonly follow?: boolean; readonly interval: number }

const FOLLOW_INTERVAL_MS = 2_000

/** `baton logs`: the log lines that are stored with the runs of a task. */
export const logs: DefineCommand = (command, invocation) => {
  command
    .argument('<id>', 'the id of a task, such as resize:img-1')
    .option('--follow', 'continues until the task has ended')
    .addOption(durationOption('--interval <duration>', 'how often --follow looks', FOLLOW_INTERVAL_MS))
    .addHelpText(
      'after',
      '\nA failed run has its newest 4 KB. A run under way has its newest 1 KB: in baton dev, and in a deployed system with the option liveLog. All lines are in the terminal of baton dev, or in CloudWatch Logs.',
    )
  withSystem(command, invocation, async (context, { follow, interval }: LogsOptions, id: string) => {
    const { client, io, printer } = context
    let [shown, after] = [0, undefined as string | undefined]
    const read = async () => {
      const log = await client.log(id, after === undefined ? {} : { after })
      for (const line of log.lines) showLine(context, line)
      shown += log.lines.length
      after = log.next
      return log
    }
    let log = await read()
    while (follow && !log.complete && !io.signal.aborted)
      log = await nextState(context, { read, intervalMs: interval }, log)
    if (shown === 0) printer.note('no run of this task has stored a log')
    noteOfDeployed(context)
  })
}

function noteOfDeployed({ printer, deployed }: Context): void {
  if (!deployed) return
  const { stack, region } = deployed
  printer.note(
    `logs of other runs are in CloudWatch Logs, in the log groups of the functions of ${stack} in ${region}: the API does not have them`,
  )
}

function showLine({ printer }: Context, line: TaskLog['lines'][number]): void {
  if (printer.isJson) return void printer.record(line)
  for (const text of safeLines(line.text.trimEnd())) printer.line(text)
}
