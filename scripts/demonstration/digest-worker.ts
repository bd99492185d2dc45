import type { Client } from '../../shared/client/client.ts'
import { DIGEST_TYPE, digestOf } from './workload.ts'

/** A worker that only speaks HTTP, as a program in any language could: claims, computes, finishes. */
export function startDigestWorker(client: Client): { stop(): Promise<void> } {
  let stopping = false
  const working = (async () => {
    while (!stopping) {
      const { claims } = await client.claim({
        type: DIGEST_TYPE,
        workerId: 'digest-worker',
        limit: 10,
        waitMs: 1_000,
      })
      await Promise.all(
        claims.map(({ task, run }) =>
          client.succeed(task.id, run.id, {
            fence: run.fence,
            result: digestOf((task.input as { text: string }).text),
          }),
        ),
      )
    }
  })()
  return {
    stop: async () => {
      stopping = true
      await working
    },
  }
}
