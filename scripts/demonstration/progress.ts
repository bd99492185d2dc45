import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from '../../shared/client/client.ts'
import type { Job } from './workload.ts'

const STATUSES = ['delayed', 'ready', 'running', 'succeeded', 'failed'] as const
const BAR_WIDTH = 30
const ROUND_MS = 500

/** Shows how far the jobs are, live on a terminal, until all have ended or the limit is reached. */
export async function showProgress(client: Client, jobs: readonly Job[], limitMs: number): Promise<void> {
  const types = [...new Set(jobs.map(({ publication }) => publication.type))]
  const until = Date.now() + limitMs
  for (;;) {
    const counts = await Promise.all(types.map(type => client.counts(type)))
    const totals = STATUSES.map(status => counts.reduce((sum, count) => sum + count[status], 0))
    const ended = (totals[3] ?? 0) + (totals[4] ?? 0)
    show(ended / jobs.length, STATUSES.map((status, index) => `${totals[index]} ${status}`).join(', '))
    if (ended >= jobs.length || Date.now() > until) break
    await sleep(ROUND_MS)
  }
  if (process.stdout.isTTY) process.stdout.write('\n')
}

function show(share: number, text: string): void {
  const filled = Math.round(Math.min(1, share) * BAR_WIDTH)
  const line = `${'█'.repeat(filled)}${'░'.repeat(BAR_WIDTH - filled)} ${text}`
  if (process.stdout.isTTY) process.stdout.write(`\r\x1b[K${line}`)
  else console.log(line)
}
