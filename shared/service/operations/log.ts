import * as api from '../../api/index.ts'
import { runId, type Task } from '../../core/task/task.ts'
import { type DescribedRun, readTask } from '../../runtime/read/read.ts'
import { type Answer, answerProblem, type Call, operationOf } from '../operation.ts'
import { noSuchTask } from '../present/problems.ts'
import { forTask } from '../requests/publish-requests.ts'

export const logOperations = [
  operationOf('Tasks')({
    name: 'log',
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
  const after = positionsIn(query.after)
  const newest = Math.max(0, ...after.keys())
  const news = runs.flatMap(run => {
    const seen = after.get(run.fence)
    if (!seen && run.fence <= newest) return []
    return linesOf(task, run).filter(({ position }) => isBeyond(position, seen ?? []))
  })
  const lines = news.map(({ runId, text }) => ({ runId, text }))
  const next = nextOf(runs, new Map([...after, ...news.map(one => [one.fence, one.position] as const)]))
  return { status: 200, body: { lines, next, complete: task.state !== 'open' } }
}

/** A time in milliseconds, and the number among the entries of this time. */
type Position = readonly number[]

/** The positions in the log of each run, by its fence. */
function positionsIn(after = ''): Map<number, Position> {
  const positions = after.split('_').map(one => one.split('.').map(Number))
  return new Map(positions.map(([fence = 0, ...position]) => [fence, position]))
}

/** The position in each live run, whose log grows, and in the newest run: of ended runs before it, nothing follows. */
function nextOf(runs: readonly DescribedRun[], reached: ReadonlyMap<number, Position>): string {
  const growing = runs.filter(({ state }, nth) => state === 'running' || nth === runs.length - 1)
  return growing.map(({ fence }) => [fence, ...(reached.get(fence) ?? [0, 0])].join('.')).join('_') || '0.0.0'
}

/** A log of several entries. An entry begins with its time and its level, and may have several lines of text. */
const BETWEEN_ENTRIES = /\n(?=\d{4}-\d\d-\d\dT[\d:.]+Z [A-Z]+ )/

/** The entries of a run with their positions. An entry has the same position in each tail that contains all entries of its time. */
function linesOf({ born }: Task, { fence, log }: DescribedRun) {
  const counts = new Map<number, number>()
  return (log?.split(BETWEEN_ENTRIES) ?? []).map(text => {
    const at = Date.parse(text.slice(0, text.indexOf(' '))) || 0
    counts.set(at, (counts.get(at) ?? 0) + 1)
    return { runId: runId(born, fence), fence, text, position: [at, counts.get(at) ?? 1] }
  })
}

function isBeyond(position: Position, after: Position): boolean {
  const differing = position.findIndex((part, nth) => part !== after[nth])
  return differing >= 0 && (position[differing] ?? 0) > (after[differing] ?? -1)
}
