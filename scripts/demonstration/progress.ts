import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from '../../shared/client/client.ts'
import type { Status } from '../../shared/core/task/lifecycle.ts'

const STATUSES = ['delayed', 'ready', 'running', 'compensating', 'succeeded', 'failed'] as const
const BAR_WIDTH = 30
const ROUND_MS = 500

/** Shows how far all tasks of these types are, live on a terminal, until `tasks` have ended or the limit is reached. */
export async function showProgress(
  client: Client,
  types: readonly string[],
  tasks: number,
  limitMs: number,
): Promise<void> {
  const until = Date.now() + limitMs
  for (;;) {
    const counts = await Promise.all(types.map(type => client.counts(type)))
    const total = (status: Status) => counts.reduce((sum, count) => sum + count[status], 0)
    const ended = total('succeeded') + total('failed')
    show(ended / tasks, STATUSES.map(status => `${total(status)} ${status}`).join(', '))
    if (ended >= tasks || Date.now() > until) break
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
