import type { LocalSystem } from '../local-system/local-system.ts'

/** What an HTTP worker is given, as its users read it. */
// biome-ignore lint/suspicious/noExplicitAny: answers are read without types
export type Given = any

/** The report with which it ends a run; undefined when it never reports, like a worker that dies. */
export type Word = Readonly<Record<string, unknown>> | undefined

/**
 * A worker that claims tasks of these types over HTTP, up to 100 at a time, and ends each as `work` says, until it is
 * stopped.
 */
export function anHttpWorker(
  { call }: LocalSystem,
  types: readonly string[],
  work: (task: Given) => Word,
  workerId = 'clerk',
): { stop(): Promise<void> } {
  let isOver = false
  const working = (async () => {
    while (!isOver) {
      const { body } = await call('POST', '/v1/claims', { types, workerId, limit: 100, waitMs: 300 })
      const runs = body.claims.flatMap(({ task, run }: Given) => {
        const word = work(task)
        return word ? [{ taskId: task.id, runId: run.id, fence: run.fence, ...word }] : []
      })
      if (runs.length > 0) await call('POST', '/v1/runs/finish', { runs })
    }
  })()
  return {
    stop: async () => {
      isOver = true
      await working
    },
  }
}
