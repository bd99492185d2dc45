import { onTestFinished } from 'vitest'
import { z } from 'zod'
import type { Task } from '../../shared/core/task/task.ts'
import { defineTask } from '../../shared/define/define-task.ts'
import type { TaskContext, TaskDefinition } from '../../shared/define/definitions.ts'
import { readTask } from '../../shared/runtime/kernel/heads.ts'
import type { Worker, WorkerSettings } from '../../shared/worker/engine.ts'
import { runQueueWorker } from '../../shared/worker/queue-worker.ts'
import { createMemoryInbox, type MemoryInbox } from '../support/ports/inbox.ts'
import { aMemorySystem, type MemorySystem, stored } from '../support/worlds/memory-system.ts'

export type WorkerWorld = {
  readonly system: MemorySystem
  readonly inbox: MemoryInbox
  readonly worker: Worker
  /** Stores tasks and dispatches each of them. */
  dispatched(count: number, parts?: Parameters<typeof stored>[1]): Promise<Task[]>
  head(task: Task): Promise<Task>
}

// biome-ignore lint/suspicious/noExplicitAny: handlers of any input
type Run = (input: any, context: TaskContext) => unknown

export function aDefinition(run: Run, type = 'resize'): TaskDefinition {
  return defineTask(type, { input: z.unknown(), run })
}

/** A worker on queues and a store in memory, that has started. It ends with its test. */
export function aWorkerWorld(settings: WorkerSettings, system = aMemorySystem()): WorkerWorld {
  const inbox = createMemoryInbox(system.clock)
  const worker = runQueueWorker(system, inbox, { workerId: 'w1', ...settings })
  worker.start()
  onTestFinished(() => ended({ system, worker }))
  let keys = 0
  return {
    system,
    inbox,
    worker,
    dispatched: async (count, parts = {}) => {
      const tasks: Task[] = []
      for (let i = 0; i < count; i++) {
        keys += 1
        const task = await stored(system, { key: `k${keys}`, ...parts })
        inbox.put(task)
        tasks.push(task)
      }
      return tasks
    },
    head: async ({ id }) => {
      const head = await readTask(system, id)
      if (!head) throw new Error(`there is no ${id}`)
      return head
    },
  }
}

/** Ends the worker, and advances the clock until it has ended. */
export async function ended({ system, worker }: Pick<WorkerWorld, 'system' | 'worker'>): Promise<void> {
  let isOver = false
  const over = worker.abort().then(() => {
    isOver = true
  })
  for (let i = 0; i < 100 && !isOver; i++) await system.clock.advance(100)
  await over
}

/** Handlers that wait until the test lets them end. */
export function aGate() {
  const waiting: Array<{ context: TaskContext; open(): void }> = []
  let most = 0
  let running = 0
  const run: Run = async (_input, context) => {
    running += 1
    most = Math.max(most, running)
    await new Promise<void>((resolve, reject) => {
      waiting.push({ context, open: resolve })
      context.signal.addEventListener('abort', () => reject(context.signal.reason))
    }).finally(() => {
      running -= 1
    })
  }
  return {
    run,
    waiting,
    running: () => running,
    most: () => most,
    openAll: () => {
      for (const { open } of waiting.splice(0)) open()
    },
  }
}
