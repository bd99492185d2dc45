import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type DevProcess, startDevProcess } from '../test/support/dev/dev-process.ts'
import { aShop, aTask, type Shop } from '../test/support/dev/shop.ts'
import { quantile, type Row } from './row.ts'

const EDITS = 20
const OPTION_EDITS = 5
const TASKS_IN_FLIGHT = 1_000
const BATCH_TASKS = 100
const CHANGES_IN_FLIGHT = 5

/** Measures `baton dev` on a project with two handlers: its start, and how fast it takes over what changes. */
export async function devRows(): Promise<Row[]> {
  const shop = aShop({ 'tasks/mail.ts': aTask('mail', '') })
  const synthesisMs = await timeOf(() => synthesiseAlone(shop))
  const begun = performance.now()
  const dev = await startDevProcess(shop.folder)
  const readyMs = performance.now() - begun
  try {
    return [
      {
        name: 'baton dev: start to ready',
        value: readyMs,
        control: { name: 'synthesising its app', value: synthesisMs },
        bound: { of: 'value', max: 10_000 },
      },
      await editRow(shop, dev),
      await optionRow(shop, dev, synthesisMs),
      await inFlightRow(shop, dev),
    ]
  } finally {
    await dev.stop()
  }
}

async function editRow(shop: Shop, dev: DevProcess): Promise<Row> {
  await dev.run('resize', 'warm')
  const waits: number[] = []
  for (let nth = 0; nth < EDITS; nth++) waits.push(await editToLive(shop, dev, 100 + nth))
  const starts = await Promise.all(Array.from({ length: 3 }, () => timeOf(() => exitOf(['-e', '']))))
  return {
    name: 'baton dev: save of a handler to the first run of its new code, p95',
    value: quantile(waits, 0.95),
    control: { name: 'starting Node', value: quantile(starts, 0.5) },
    bound: { of: 'value', max: 1_000 },
  }
}

/** Saves a handler while tasks are published all the time. Returns when the first of them ran on the new code, after the save. */
async function editToLive(shop: Shop, dev: DevProcess, version: number): Promise<number> {
  shop.write('tasks/version.ts', `export const VERSION: number = ${version}\n`)
  const savedAt = Date.now()
  for (let nth = 0; ; nth++) {
    const task = await dev.run('resize', `edit-${version}-${nth}`)
    if (task.result.version === version) return Date.parse(task.startedAt) - savedAt
  }
}

async function optionRow(shop: Shop, dev: DevProcess, synthesisMs: number): Promise<Row> {
  const waits: number[] = []
  for (let maxRetries = 4; maxRetries < 4 + OPTION_EDITS; maxRetries++) {
    shop.write('tasks/mail.ts', aTask('mail', '', `retry: { maxRetries: ${maxRetries} },`))
    const savedAt = performance.now()
    const isLive = async () =>
      (await dev.call('GET', '/v1/types/mail')).body.defaults?.retry?.maxRetries === maxRetries
    while (!(await isLive())) await sleep(20)
    waits.push(performance.now() - savedAt)
  }
  return {
    name: 'baton dev: save of an option to its registration, worst',
    value: quantile(waits, 1),
    control: { name: 'synthesising the app alone', value: synthesisMs },
    bound: { of: 'value', max: 6_000 },
  }
}

/** Changes a handler while its tasks run. @throws when one of them is lost, or does not succeed once. */
async function inFlightRow(shop: Shop, dev: DevProcess): Promise<Row> {
  const calm = await timeOf(() => runMany(dev, 'calm'))
  const changed = await timeOf(async () => {
    const running = runMany(dev, 'changed')
    for (let nth = 1; nth <= CHANGES_IN_FLIGHT; nth++) {
      shop.write('tasks/version.ts', `export const VERSION: number = ${1_000 + nth}\n`)
      await sleep(500)
    }
    await running
  })
  return {
    name: `baton dev: ${TASKS_IN_FLIGHT} tasks while their handler changes ${CHANGES_IN_FLIGHT} times, none lost`,
    value: changed,
    control: { name: 'without changes', value: calm },
  }
}

async function runMany(dev: DevProcess, name: string): Promise<void> {
  const ids: string[] = []
  for (let start = 0; start < TASKS_IN_FLIGHT; start += BATCH_TASKS) {
    const tasks = Array.from({ length: BATCH_TASKS }, (_one, nth) => ({
      ...{ type: 'resize', key: `${name}-${start + nth}`, input: {} },
    }))
    const { body } = await dev.call('POST', '/v1/tasks/batch', { tasks })
    ids.push(...body.results.map(({ id }: { readonly id: string }) => id))
  }
  for (const id of ids) await succeeded(dev, id)
}

async function succeeded(dev: DevProcess, id: string): Promise<void> {
  for (;;) {
    const { body } = await dev.call('GET', `/v1/tasks/${id}`)
    if (body.status === 'succeeded') return
    if (['failed', 'cancelled'].includes(body.status)) throw new Error(`${id} is ${JSON.stringify(body)}`)
    await sleep(20)
  }
}

function synthesiseAlone({ folder }: Shop): Promise<void> {
  const output = mkdtempSync(join(tmpdir(), 'synthesis-'))
  const environment = { CDK_OUTDIR: output, CDK_VALIDATION: 'false', CDK_CONTEXT_JSON: '{"baton:dev":true}' }
  return exitOf(['infra/app.ts'], folder, environment)
}

async function exitOf(args: readonly string[], cwd = '.', environment: object = {}): Promise<void> {
  const child = spawn(process.execPath, args, {
    cwd,
    stdio: 'ignore',
    env: { ...process.env, ...environment },
  })
  const [code] = await once(child, 'exit')
  if (code !== 0) throw new Error(`node ${args.join(' ')} ended with ${code}`)
}

async function timeOf(work: () => Promise<void>): Promise<number> {
  const begun = performance.now()
  await work()
  return performance.now() - begun
}
