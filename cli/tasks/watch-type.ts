import type { ApiTask } from '../../shared/api/tasks.ts'
import type { ApiType, Counts } from '../../shared/api/types.ts'
import type { Context } from '../system/with-system.ts'
import { oneLine } from '../terminal/safe-text.ts'
import { tableLines } from '../terminal/table.ts'
import { clockText } from '../terminal/times.ts'
import { taskColumns } from './task-columns.ts'
import { follow } from './watching.ts'

/** The tasks of each part of the picture. */
const SHOWN_TASKS = 8

type State = {
  readonly type: ApiType
  readonly counts: Counts
  readonly running: readonly ApiTask[]
  readonly ended: readonly ApiTask[]
}

/** Shows a type's counts, its running tasks and those that ended last, until the user interrupts. */
export async function watchType(context: Context, type: string, intervalMs: number): Promise<number> {
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
    client.listPage({
      type,
      status: ['succeeded', 'failed', 'cancelled'],
      order: '-ended',
      limit: SHOWN_TASKS,
    }),
  ])
  return { type: shown, counts, running: running.items, ended: ended.items }
}

function pictureOf({ printer, io }: Context, { type, counts, running, ended }: State): string[] {
  const { style } = printer
  const table = (title: string, tasks: readonly ApiTask[]) =>
    tasks.length === 0
      ? []
      : [
          '',
          style.bold(title),
          ...tableLines(taskColumns(printer), tasks, { style, columns: io.out.columns }),
        ]
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
