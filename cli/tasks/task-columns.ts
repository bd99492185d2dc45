import type { ApiTask } from '../../shared/api/tasks.ts'
import type { Printer } from '../terminal/printer.ts'
import type { Column } from '../terminal/table.ts'
import { relativeTime } from '../terminal/times.ts'

/** The columns of every list of tasks. */
export function taskColumns({ style, now }: Printer): Array<Column<ApiTask>> {
  return [
    { title: 'ID', value: ({ id }) => id, paint: style.bold },
    {
      title: 'STATUS',
      value: ({ status, statusReason }) => (statusReason ? `${status} (${statusReason})` : status),
      paint: (text, { status }) => text.replace(status, style.status(status)),
    },
    { title: 'RUNS', value: ({ attempts }) => attempts.used, isNumber: true },
    { title: 'CREATED', value: ({ createdAt }) => relativeTime(createdAt, now()) },
    {
      title: 'DUE OR ENDED',
      value: ({ dueAt, finishedAt }) => relativeTime(finishedAt ?? dueAt, now()),
    },
    {
      title: 'ERROR',
      value: ({ error }) => error && `${error.name}: ${error.message}`,
      paint: text => (text === '-' ? text : style.red(text)),
      mayShrink: true,
    },
  ]
}
