import type { Decision } from '../../core/change/change.ts'
import { BatonError } from '../../core/errors.ts'
import { reorder, unblock } from '../../core/limits/wait.ts'
import { rangesOfPurge } from '../../core/operate/purge.ts'
import { viewPartition } from '../../core/place/place-names.ts'
import type { Task, View } from '../../core/task/task.ts'
import { orderingOf, shardNumbers, type TaskType } from '../../core/types/task-type.ts'
import type { JobLook, TypeJob } from '../../core/types/type-job.ts'
import type { IndexEntry } from '../../ports/stores.ts'
import { eachApart } from '../kernel/isolate-faults.ts'
import type { System } from '../kernel/system.ts'
import { transact } from '../kernel/transact.ts'
import { sendMessages } from '../plan/plan-tasks.ts'
import { noteProgress } from './purge-progress.ts'
import { purgeTasks } from './purge-tasks.ts'

const PAGE = 100
const MOST_AT_ONCE = 25

/** A bucket of the type's view, and between which sort keys a job is about its tasks. */
type JobRange = { readonly bucket: View['bucket']; readonly from?: number; readonly to?: number }

/** Which tasks of its type a job is about; to resume, what is not due yet has its messages to come. */
function rangesOf(job: TypeJob, now: number): readonly JobRange[] {
  switch (job.kind) {
    case 'resume':
    case 'relimit':
      return [{ bucket: 'open', to: now }, { bucket: 'compensating' }]
    case 'reorder':
      return [{ bucket: 'open' }]
    case 'purge':
      return rangesOfPurge(job)
  }
}

/**
 * Begins a job on the tasks of a type: the jobs function works through each partition of their view on its own.
 *
 * @throws BatonError `unavailable` when a message could not be sent; beginning the job again does no harm.
 */
export async function startJob(
  { messages, clock }: Pick<System, 'messages' | 'clock'>,
  type: TaskType,
  job: TypeJob,
  delaySeconds = 0,
): Promise<void> {
  const looks = shardNumbers(type).flatMap(shard =>
    rangesOf(job, clock.now()).map(({ bucket }) => ({ type: type.type, job, bucket, shard, delaySeconds })),
  )
  await sent(messages.goOnWithJobs(looks), job)
}

async function sent(sending: ReturnType<System['messages']['goOnWithJobs']>, { kind }: TypeJob) {
  const [failure] = await sending
  if (!failure) return
  const message = `the job ${kind} could not be sent on: ${failure.reason}`
  throw failure.transient ? new BatonError('unavailable', message) : new Error(message)
}

/** Works on a job page by page, in the order of the view; what is left at `stopAt` goes on in a message of its own. */
export async function workOnJob(system: System, look: JobLook, stopAt: number): Promise<void> {
  const { type, job, bucket, shard } = look
  const range = rangesOf(job, system.clock.now()).find(one => one.bucket === bucket)
  if (!range) return
  let position: IndexEntry | undefined = look.after
  await note(system, look, position)
  for (;;) {
    if (system.clock.now() >= stopAt) {
      const rest = { ...look, ...(position && { after: position }), delaySeconds: 0 }
      await note(system, look, position)
      return sent(system.messages.goOnWithJobs([rest]), job)
    }
    const page = await system.tasks.page({
      index: 'view',
      partition: viewPartition(type, bucket, shard),
      ...boundsOf(range),
      limit: PAGE,
      ...(position && { after: position }),
    })
    await workOnPage(system, look, await headsInOrder(system, page.entries))
    position = page.entries.at(-1) ?? position
    if (!page.more) return note(system, look, position, true)
  }
}

/** A purge stands with its type until it is known to be done; what a resumed type lacks, the sweeper sees by itself. */
async function note(system: System, look: JobLook, after: IndexEntry | undefined, isDone = false) {
  const { job } = look
  if (job.kind === 'purge') await noteProgress(system, { ...look, job }, { isDone, ...(after && { after }) })
}

function boundsOf({ bucket: _bucket, ...bounds }: JobRange): Pick<JobRange, 'from' | 'to'> {
  return bounds
}

async function headsInOrder({ tasks }: System, entries: readonly IndexEntry[]): Promise<Task[]> {
  const heads = new Map((await tasks.heads(entries.map(({ id }) => id))).map(task => [task.id, task]))
  return entries.flatMap(({ id }) => heads.get(id) ?? [])
}

async function workOnPage(system: System, { type, job }: JobLook, tasks: readonly Task[]): Promise<void> {
  switch (job.kind) {
    case 'resume':
      return sendAgain(system, tasks)
    case 'relimit':
      return changeEach(system, tasks, task => unblock(task, system.clock.now()))
    case 'reorder':
      return sortAnew(system, type, tasks)
    case 'purge':
      await purgeTasks(system, job, tasks)
  }
}

/** The order is read for each page: it may have been changed once more since the job was begun. */
async function sortAnew(system: System, name: string, tasks: readonly Task[]): Promise<void> {
  const type = await system.types.get(name)
  if (!type) return
  const order = { ordering: orderingOf(type), isFair: type.isFair === true }
  await changeEach(system, tasks, task => reorder(task, order, system.clock.now()))
}

/** What has changed meanwhile is decided anew, but not on another birth. */
async function changeEach(
  system: System,
  tasks: readonly Task[],
  decide: (task: Task) => Decision<string>,
): Promise<void> {
  await eachApart(system, tasks, MOST_AT_ONCE, seen =>
    transact(system, seen, current =>
      current?.born === seen.born ? decide(current) : { ok: false as const, reason: 'gone' as const },
    ),
  )
}

async function sendAgain(system: System, tasks: readonly Task[]): Promise<void> {
  const failures = (await sendMessages(system, tasks)).filter(({ transient }) => transient)
  if (failures[0]) throw new Error(`${failures.length} tasks were not sent again: ${failures[0].reason}`)
}
