import type { ApiRun, ApiTask } from '../../shared/api/tasks.ts'
import { type Context, withSystem } from '../connection/with-system.ts'
import { type DefineCommand, durationOption } from '../terminal/command.ts'
import { oneLine, safeLines } from '../terminal/style.ts'
import { relativeTime } from '../terminal/times.ts'
import { follow } from './watch.ts'

type LogsOptions = { readonly follow?: boolean; readonly interval: number }

const FOLLOW_INTERVAL_MS = 2_000

/** `baton logs`: the logs that are stored with the failed runs of a task. */
export const logs: DefineCommand = (command, invocation) => {
  command
    .argument('<id>', 'the id of a task, such as resize:img-1')
    .option('--follow', 'goes on until the task has ended')
    .addOption(durationOption('--interval <duration>', 'how often --follow looks', FOLLOW_INTERVAL_MS))
    .addHelpText(
      'after',
      '\nOnly failed runs are stored with their logs: the newest 4 KB of each. All lines are in the terminal of baton dev. For a deployed stack they are in CloudWatch Logs, in the log groups of its functions.',
    )
  withSystem(command, invocation, async (context, options: LogsOptions, id: string) => {
    const shown = new Set<string>()
    const read = async () => {
      const task = await context.client.get(id)
      for (const run of task.runs) showOnce(context, run, shown)
      return task
    }
    if (options.follow) await followQuietly(context, read, options.interval)
    else await read()
    if (shown.size === 0) context.printer.note('no failed run of this task has stored a log')
    noteOfDeployed(context)
    return 0
  })
}

function noteOfDeployed({ printer, deployed }: Context): void {
  if (!deployed) return
  const { stack, region } = deployed
  printer.note(
    `logs of other runs are in CloudWatch Logs, in the log groups of the functions of ${stack} in ${region}: the API does not have them`,
  )
}

function showOnce({ printer }: Context, run: ApiRun, shown: Set<string>): void {
  if (run.log === undefined || shown.has(run.id)) return
  shown.add(run.id)
  const { id, workerId, state, startedAt, log } = run
  if (printer.isJson) {
    printer.record({ runId: id, workerId, state, startedAt, log })
    return
  }
  const { style, now } = printer
  printer.line(
    style.bold(oneLine(`run ${id} by ${workerId} ${state}, began ${relativeTime(startedAt, now())}`)),
  )
  for (const line of safeLines(log.trimEnd())) printer.line(`  ${line}`)
}

/** Reads until the task has ended. What is read shows itself. */
async function followQuietly(
  context: Context,
  read: () => Promise<ApiTask>,
  intervalMs: number,
): Promise<void> {
  const { out } = context.io
  const quiet = { ...context, io: { ...context.io, out: { ...out, write: () => {}, isTTY: true } } }
  await follow(
    { ...quiet, printer: { ...context.printer, isJson: false } },
    {
      read,
      picture: () => [],
      line: () => '',
      isOver: ({ finishedAt }) => finishedAt !== undefined,
      intervalMs,
    },
  )
}
