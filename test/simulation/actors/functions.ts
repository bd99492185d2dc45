import { readWakes } from '../../../functions/read-wakes.ts'
import type { DispatchReader } from '../../../shared/aws/sqs/read-dispatch.ts'
import { serveDispatches } from '../../../shared/runtime/dispatch/serve-dispatches.ts'
import { sweep } from '../../../shared/runtime/sweep/sweep.ts'
import { serveWakes } from '../../../shared/runtime/wake.ts'
import type { Queue, Received } from '../world/aws/queue.ts'
import { sweepMemoryIn, typesIn } from '../world/caches.ts'
import type { Process } from '../world/process.ts'
import type { Sandbox, Sandboxes } from '../world/sandboxes.ts'
import type { World } from '../world/world.ts'
import { handlerIn, type Script } from './handlers.ts'

const BATCH_MAX = 10
const BATCHING_MS = 30
/** How many invocations of the waker run at once at most. */
const WAKERS = 50
/** How many invocations of each type's Lambda run at once at most: enough that no dispatch waits. */
const EXECUTORS = 20
/** How long before its timeout an invocation stops, as in the functions' entry points. */
const MARGIN_MS = { executor: 3_000, waker: 5_000 }
const JOB_MS = 25_000

/**
 * An event source mapping: receives batches from a queue, starts one invocation for each, and deletes the
 * messages that were served.
 */
function feed(
  world: World,
  queue: Queue,
  concurrency: number,
  invoke: (batch: readonly Received[]) => Promise<readonly string[] | undefined>,
): void {
  let active = 0
  let isScheduled = false

  const receiveSoon = () => {
    if (isScheduled || active >= concurrency) return
    isScheduled = true
    const from = Math.max(world.outageEndsAt('queues'), world.outageEndsAt('functions'))
    world.timeline.at(from + BATCHING_MS, () => {
      isScheduled = false
      const batch = queue.receive(BATCH_MAX)
      if (batch.length === 0) return
      active += 1
      void serve(batch).finally(() => {
        active -= 1
        if (queue.visible() > 0) receiveSoon()
      })
      if (queue.visible() > 0) receiveSoon()
    })
  }
  const serve = async (batch: readonly Received[]) => {
    const failed = await invoke(batch)
    if (!failed) return
    for (const one of batch) {
      // A failed message becomes visible again when its visibility timeout is over.
      if (!failed.includes(one.messageId)) queue.delete(one)
    }
  }
  queue.onVisible(receiveSoon)
}

/** Starts the waker behind its queue. */
export function runWaker(world: World, queue: Queue, sandboxes: Sandboxes): void {
  feed(world, queue, world.scenario.conditions?.wakers ?? WAKERS, batch =>
    sandboxes.invoke('waker', ({ process, system, endsAt }) => {
      const wakes = wakesIn(system, batch)
      recordLooks(world, process.name, wakes)
      return serveWakes(system, wakes, endsAt - MARGIN_MS.waker)
    }),
  )
}

/** The simulated planner keeps no late events, so there are none in a batch. */
function wakesIn(system: Parameters<typeof readWakes>[0], batch: readonly Received[]) {
  return readWakes(system, { Records: batch } as unknown as Parameters<typeof readWakes>[1]).wakes
}

function recordLooks({ history, timeline }: World, by: string, wakes: ReturnType<typeof wakesIn>): void {
  const at = timeline.now()
  for (const { wake } of wakes) {
    if (wake.kind === 'limit') history.record({ at, by, what: 'line-look', look: wake.look })
    if (wake.kind !== 'look') continue
    const { id, born } = wake.look
    history.record({ at, by, what: 'look-received', id, born })
  }
}

/** Starts the jobs function behind its queue. */
export function runJobs(world: World, queue: Queue, sandboxes: Sandboxes): void {
  feed(world, queue, 2, batch =>
    sandboxes.invoke('jobs', ({ process, system }) =>
      serveWakes(system, wakesIn(system, batch), process.clock.now() + JOB_MS),
    ),
  )
}

/** The function of a type, and its queue. */
type Executor = {
  readonly type: string
  readonly queue: Queue
  readonly sandboxes: Sandboxes
  readonly script: Script
  readonly readerOf: (process: Process) => DispatchReader
}

/** Starts the Lambda of a type behind its queue. Each invocation is one worker. */
export function runExecutor(world: World, executor: Executor): void {
  feed(world, executor.queue, world.scenario.conditions?.executors ?? EXECUTORS, batch =>
    executor.sandboxes.invoke(`lambda ${executor.type}`, sandbox => execute(world, executor, batch, sandbox)),
  )
}

async function execute(
  world: World,
  { type, script, readerOf }: Executor,
  batch: readonly Received[],
  { process, system, endsAt, requestId }: Sandbox,
): Promise<string[]> {
  const readDispatch = readerOf(process)
  const read = await Promise.all(
    batch.map(async ({ messageId, body }) => {
      const dispatch = await readDispatch(body).catch(() => 'later' as const)
      return { messageId, dispatch }
    }),
  )
  const received = read.flatMap(({ messageId, dispatch }) =>
    typeof dispatch === 'object' ? [{ messageId, ...dispatch }] : [],
  )
  const at = world.timeline.now()
  // Baton recognises an invocation by the beginning of its worker id.
  const workerId = requestId.replace('lambda ', 'lambda-')
  for (const { task } of received) world.history.record({ at, by: process.name, what: 'delivered', task })
  const failed = await serveDispatches(
    system,
    received,
    { workerId },
    {
      definition: handlerIn(world, process, script, type, () => workerId),
      typeOf: typesIn(system),
      stopAt: endsAt - MARGIN_MS.executor,
    },
  )
  const unread = read.filter(({ dispatch }) => dispatch === 'later').map(({ messageId }) => messageId)
  return [...unread, ...failed]
}

/** Runs one round of the sweeper. */
export async function runSweep(world: World, sandboxes: Sandboxes): Promise<void> {
  await sandboxes.invoke('sweeper', ({ system }) => {
    const { sweptAtOnce: most } = world.scenario.conditions ?? {}
    const budget =
      most === undefined ? undefined : { running: most, passed: most, waiting: most, queued: most }
    return sweep(system, sweepMemoryIn(system), { budget })
  })
}
