import type { Client } from '../../shared/client/client.ts'
import type { Job } from './workload.ts'

/** What became of one job: when it was published, due and first started (ms), and what is wrong with it. */
export type Verdict = {
  readonly group: string
  readonly status: string
  readonly createdAt: number
  readonly dueAt: number
  readonly startedAt: number | undefined
  readonly problems: readonly string[]
}

const AT_ONCE = 10

/** Reads every job's task and holds it against what was expected. */
export async function verify(client: Client, jobs: readonly Job[]): Promise<Verdict[]> {
  const verdicts: Verdict[] = []
  for (let start = 0; start < jobs.length; start += AT_ONCE) {
    verdicts.push(
      ...(await Promise.all(jobs.slice(start, start + AT_ONCE).map(job => verifyJob(client, job)))),
    )
  }
  return verdicts
}

async function verifyJob(client: Client, { group, publication, expected }: Job): Promise<Verdict> {
  const id = `${publication.type}:${publication.key}`
  const task = await client.get(id)
  const problems: string[] = []
  if (task.status !== expected.status) problems.push(`${id} is ${task.status} instead of ${expected.status}`)
  if (task.runs.length !== expected.runs)
    problems.push(`${id} had ${task.runs.length} runs instead of ${expected.runs}`)
  const resultProblem = expected.problem?.(task.result)
  if (resultProblem) problems.push(`${id}: ${resultProblem}`)
  const createdAt = Date.parse(task.createdAt)
  return {
    group,
    status: task.status,
    createdAt,
    dueAt: publication.delayMs === undefined ? createdAt : Date.parse(task.dueAt),
    startedAt: task.startedAt === undefined ? undefined : Date.parse(task.startedAt),
    problems,
  }
}
