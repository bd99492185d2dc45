import { readdirSync, readFileSync } from 'node:fs'
import type { LocalCloud } from '../../local/cloud.ts'
import { type Client, createClient } from '../../shared/client/client.ts'
import { startDigestWorker } from './digest-worker.ts'
import { showProgress } from './progress.ts'
import { startReceiver } from './receiver.ts'
import { summarise } from './summary.ts'
import { type Verdict, verify } from './verify.ts'
import { DIGEST_TYPE, type Job, workload } from './workload.ts'

const TEXTS = new URL('../../examples/data/', import.meta.url)
/** The demonstration takes some 15 seconds; what is not done by then will not be. */
const LIMIT_MS = 120_000
const BATCH = 100

/**
 * Publishes the demonstration workload through the HTTP API, shows its progress, and prints the summary. True when
 * every task ended as expected and every duplicate was recognised.
 */
export async function runDemonstration(cloud: LocalCloud): Promise<boolean> {
  const texts = new Map(readdirSync(TEXTS).map(name => [name, readFileSync(new URL(name, TEXTS), 'utf8')]))
  const client = createClient({ url: cloud.apiUrl })
  const receiver = await startReceiver(texts)
  const jobs = workload(texts, receiver.url)
  await client.putType('webhook', { kind: 'webhook', defaults: {}, webhook: { allowPrivate: true } })
  await client.putType(DIGEST_TYPE, { kind: 'http', defaults: {} })
  const worker = startDigestWorker(client)
  const before = cloud.meter.snapshot()
  try {
    const duplicates = await publishAll(client, jobs)
    await showProgress(client, jobs, LIMIT_MS)
    const verdicts = await verify(client, jobs)
    const problems = [...verdicts.flatMap(({ problems: found }) => found), ...duplicates]
    summarise(verdicts, cloud.meter.since(before))
    for (const problem of problems) console.error(`not as expected: ${problem}`)
    reportVerdict(verdicts, problems)
    return problems.length === 0
  } finally {
    await worker.stop()
    await receiver.stop()
  }
}

/** Publishes all jobs, then the first ones once more: their keys exist, and must be answered so. */
async function publishAll(client: Client, jobs: readonly Job[]): Promise<string[]> {
  for (let start = 0; start < jobs.length; start += BATCH) {
    await client.publishMany(jobs.slice(start, start + BATCH).map(({ publication }) => publication))
  }
  const again = await client.publishMany(jobs.slice(0, 20).map(({ publication }) => publication))
  return again.flatMap(({ created, id }) => (created === false ? [] : [`${id} was created twice`]))
}

function reportVerdict(verdicts: readonly Verdict[], problems: readonly string[]): void {
  const asExpected = verdicts.filter(verdict => verdict.problems.length === 0).length
  console.log(
    `${asExpected} of ${verdicts.length} tasks ended as expected; ${problems.length === 0 ? 'all is well' : 'see above'}.`,
  )
}
