import * as api from '../../api/index.ts'
import { runId, type Task } from '../../core/task/task.ts'
import { type DescribedRun, readTask } from '../../runtime/read/read.ts'
import { type Answer, answerProblem, type Call, operation } from '../operation.ts'
import { noSuchTask } from '../present/problems.ts'
import { forTask } from '../requests/publish-requests.ts'

export const logOperations = [
  operation({
    name: 'log',
    tag: 'Tasks',
    summary: 'Read the log of a task',
    description:
      'Shows the log lines that are stored with the runs of the task, oldest first. A failed or lost run has its newest 4 KB. A running task has the newest 1 KB of each run, as its last heartbeat has stored it: in `baton dev` always, in a deployed system with the option `liveLog`. `after` takes the `next` of an answer, and shows only what has come since. Lines of more than 1 KB between two heartbeats are not stored.',
    cost: 'As much as reading the task.',
    answers: { 200: { description: 'The lines.', schema: api.logAnswer } },
    problems: ['not-found'],
    query: api.logQuery,
    handle: forTask(handleLog),
  }),
]

async function handleLog(call: Call<api.LogQuery, unknown>, id: string): Promise<Answer> {
  const { system, query } = call
  const found = await readTask(system, call, id)
  if (!found) return answerProblem(noSuchTask(id))
  const { task, runs } = found
  const after = query.after?.split('.').map(Number) ?? []
  const lines = runs.flatMap(run => linesOf(task, run)).filter(({ position }) => isBeyond(position, after))
  const next = lines.at(-1)?.position.join('.') ?? query.after ?? '0.0.0'
  const shown = lines.map(({ position: _, ...line }) => line)
  return { status: 200, body: { lines: shown, next, complete: task.state !== 'open' } }
}

/** A log of several entries. An entry begins with its time and its level, and may have several lines of text. */
const BETWEEN_ENTRIES = /\n(?=\d{4}-\d\d-\d\dT[\d:.]+Z [A-Z]+ )/

/**
 * The entries of a run with their positions: the fence, the time, and the number among the entries of this time. So an entry has the same
 * position in each tail that contains it.
 */
function linesOf({ born }: Task, { fence, log }: DescribedRun) {
  const counts = new Map<number, number>()
  return (log?.split(BETWEEN_ENTRIES) ?? []).map(text => {
    const at = Date.parse(text.slice(0, text.indexOf(' '))) || 0
    counts.set(at, (counts.get(at) ?? 0) + 1)
    return { runId: runId(born, fence), text, position: [fence, at, counts.get(at) ?? 1] }
  })
}

function isBeyond(position: readonly number[], after: readonly number[]): boolean {
  const differing = position.findIndex((part, nth) => part !== after[nth])
  return differing >= 0 && (position[differing] ?? 0) > (after[differing] ?? 0)
}
