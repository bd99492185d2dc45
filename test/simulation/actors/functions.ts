import type { Wake } from '../../../shared/ports/messages.ts'
import { serveDispatches } from '../../../shared/runtime/dispatch/serve-dispatches.ts'
import { sweep } from '../../../shared/runtime/sweep/sweep.ts'
import { serveWakes } from '../../../shared/runtime/wake.ts'
import type { Queue, Received } from '../world/aws/queue.ts'
import type { Dispatched } from '../world/aws/services.ts'
import { sweepMemoryIn, typesIn } from '../world/caches.ts'
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
function feed<Body>(
  world: World,
  queue: Queue<Body>,
  concurrency: number,
  invoke: (batch: readonly Received<Body>[]) => Promise<readonly string[] | undefined>,
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
  const serve = async (batch: readonly Received<Body>[]) => {
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
export function runWaker(world: World, queue: Queue<Wake>, sandboxes: Sandboxes): void {
  feed(world, queue, world.scenario.conditions?.wakers ?? WAKERS, batch =>
    sandboxes.invoke('waker', ({ process, system, endsAt }) => {
      recordLooks(world, process.name, batch)
      return serveWakes(
        system,
        batch.map(({ messageId, body }) => ({ messageId, wake: body })),
        endsAt - MARGIN_MS.waker,
      )
    }),
  )
}

function recordLooks({ history, timeline }: World, by: string, batch: readonly Received<Wake>[]): void {
  const at = timeline.now()
  for (const { body } of batch) {
    if (body.kind === 'limit') history.record({ at, by, what: 'line-look', look: body.look })
    if (body.kind !== 'look') continue
    const { id, born } = body.look
    history.record({ at, by, what: 'look-received', id, born })
  }
}

/** Starts the jobs function behind its queue. */
export function runJobs(world: World, queue: Queue<Wake>, sandboxes: Sandboxes): void {
  feed(world, queue, 2, batch =>
    sandboxes.invoke('jobs', ({ process, system }) =>
      serveWakes(
        system,
        batch.map(({ messageId, body }) => ({ messageId, wake: body })),
        process.clock.now() + JOB_MS,
      ),
    ),
  )
}

/** Starts the Lambda of a type behind its queue. Each invocation is one worker. */
export function runExecutor(
  world: World,
  {
    type,
    queue,
    sandboxes,
    script,
  }: { type: string; queue: Queue<Dispatched>; sandboxes: Sandboxes; script: Script },
): void {
  feed(world, queue, world.scenario.conditions?.executors ?? EXECUTORS, batch =>
    sandboxes.invoke(`lambda ${type}`, sandbox => execute(world, script, type, batch, sandbox)),
  )
}

function execute(
  world: World,
  script: Script,
  type: string,
  batch: readonly Received<Dispatched>[],
  { process, system, endsAt, requestId }: Sandbox,
): Promise<string[]> {
  const at = world.timeline.now()
  // Baton recognises an invocation by the beginning of its worker id.
  const workerId = requestId.replace('lambda ', 'lambda-')
  for (const { body } of batch)
    world.history.record({ at, by: process.name, what: 'delivered', task: body.task })
  return serveDispatches(
    system,
    batch.map(({ messageId, body }) => ({ messageId, ...body })),
    { workerId },
    {
      definition: handlerIn(world, process, script, type, () => workerId),
      typeOf: typesIn(system),
      stopAt: endsAt - MARGIN_MS.executor,
    },
  )
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
