import type { LocalSystem } from '../local-system/local-system.ts'

/** A task or a run as an HTTP worker receives it. */
// biome-ignore lint/suspicious/noExplicitAny: answers are read without types
export type Given = any

/** The report with which a worker ends a run; undefined when the worker never reports, as if it had died. */
export type Report = Readonly<Record<string, unknown>> | undefined

/**
 * Starts a worker that claims tasks of these types over HTTP, up to 100 at a time. It ends each run with the report that `work`
 * returns.
 */
export function anHttpWorker(
  { call }: LocalSystem,
  types: readonly string[],
  work: (task: Given) => Report,
  workerId = 'clerk',
): { stop(): Promise<void> } {
  let isStopping = false
  const working = (async () => {
    while (!isStopping) {
      const { body } = await call('POST', '/v1/claims', { types, workerId, limit: 100, waitMs: 300 })
      const runs = body.claims.flatMap(({ task, run }: Given) => {
        const report = work(task)
        return report ? [{ taskId: task.id, runId: run.id, fence: run.fence, ...report }] : []
      })
      if (runs.length > 0) await call('POST', '/v1/runs/finish', { runs })
    }
  })()
  return {
    stop: async () => {
      isStopping = true
      await working
    },
  }
}
