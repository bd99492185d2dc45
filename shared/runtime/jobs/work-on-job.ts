import type { Decision } from '../../core/change.ts'
import { reorder, unblock } from '../../core/control/wait.ts'
import { viewPartition } from '../../core/place.ts'
import type { Task, View } from '../../core/task.ts'
import { shardNumbers, type TaskType } from '../../core/task-type.ts'
import type { JobLook, TypeJob } from '../../core/type-job.ts'
import type { IndexEntry } from '../../ports.ts'
import { sendMessages } from '../plan-tasks.ts'
import { sideBySide } from '../side-by-side.ts'
import type { System } from '../system.ts'
import { transact } from '../transact.ts'

const PAGE = 100
const MOST_AT_ONCE = 25

/** Which tasks of its type a job is about. */
const BUCKETS: Readonly<Record<TypeJob['kind'], ReadonlyArray<View['bucket']>>> = {
  resume: ['open', 'compensating'],
  relimit: ['open', 'compensating'],
  reorder: ['open'],
}

/**
 * Begins a job on the tasks of a type: each partition of their view is worked through on its own, by the waker.
 *
 * @throws Error when a message could not be sent; beginning the job again does no harm.
 */
export async function startJob(
  { messages }: Pick<System, 'messages'>,
  type: TaskType,
  job: TypeJob,
  delaySeconds = 0,
): Promise<void> {
  const looks = shardNumbers(type).flatMap(shard =>
    BUCKETS[job.kind].map(bucket => ({ type: type.type, job, bucket, shard, delaySeconds })),
  )
  await sent(messages.goOnWithJobs(looks), job)
}

async function sent(sending: ReturnType<System['messages']['goOnWithJobs']>, { kind }: TypeJob) {
  const [failure] = await sending
  if (failure) throw new Error(`the job ${kind} could not be sent on: ${failure.reason}`)
}

/** Works on a job page by page, in the order of the view; what is left at `stopAt` goes on in a message of its own. */
export async function workOnJob(system: System, look: JobLook, stopAt: number): Promise<void> {
  const { type, job, bucket, shard } = look
  let position: IndexEntry | undefined = look.after
  for (;;) {
    if (system.clock.now() >= stopAt) {
      const rest = { ...look, ...(position && { after: position }), delaySeconds: 0 }
      return sent(system.messages.goOnWithJobs([rest]), job)
    }
    const page = await system.tasks.page({
      index: 'view',
      partition: viewPartition(type, bucket, shard),
      ...boundsOf(job, bucket, system.clock.now()),
      limit: PAGE,
      ...(position && { after: position }),
    })
    await workOnPage(system, job, await headsInOrder(system, page.entries))
    position = page.entries.at(-1) ?? position
    if (!page.more) return
  }
}

/** What is not due yet has its messages to come. */
function boundsOf({ kind }: TypeJob, bucket: View['bucket'], now: number): { readonly to?: number } {
  return kind !== 'reorder' && bucket === 'open' ? { to: now } : {}
}

async function headsInOrder({ tasks }: System, entries: readonly IndexEntry[]): Promise<Task[]> {
  const heads = new Map((await tasks.heads(entries.map(({ id }) => id))).map(task => [task.id, task]))
  return entries.flatMap(({ id }) => heads.get(id) ?? [])
}

async function workOnPage(system: System, job: TypeJob, tasks: readonly Task[]): Promise<void> {
  switch (job.kind) {
    case 'resume':
      return sendAgain(system, tasks)
    case 'relimit':
      return changeEach(system, tasks, task => unblock(task, system.clock.now()))
    case 'reorder':
      return changeEach(system, tasks, task => reorder(task, job.ordering, system.clock.now()))
  }
}

/** What has changed meanwhile is decided anew, but not on another birth. */
async function changeEach(
  system: System,
  tasks: readonly Task[],
  decide: (task: Task) => Decision<string>,
): Promise<void> {
  await sideBySide(tasks, MOST_AT_ONCE, seen =>
    transact(system, seen, current =>
      current?.born === seen.born ? decide(current) : { ok: false as const, reason: 'gone' as const },
    ),
  )
}

async function sendAgain(system: System, tasks: readonly Task[]): Promise<void> {
  const failures = (await sendMessages(system, tasks)).filter(({ transient }) => transient)
  if (failures[0]) throw new Error(`${failures.length} tasks were not sent again: ${failures[0].reason}`)
}
