import type { ApiTask } from '../../shared/api/tasks.ts'
import { FAILED_EXIT_CODE } from '../say.ts'
import type { Context } from '../system/with-system.ts'
import { oneLine } from '../terminal/safe-text.ts'
import { contentLines, taskLines } from './task-view.ts'
import { follow } from './watching.ts'

/** Shows a task until its end. Returns the exit code: 1 when it did not succeed. */
export async function watchTask(context: Context, id: string, intervalMs: number): Promise<number> {
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
    error && `${error.name}: ${error.message}`,
  ]
  return oneLine(parts.filter(part => typeof part === 'string' && part !== '').join(', '))
}
