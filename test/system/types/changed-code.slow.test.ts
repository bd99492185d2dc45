import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { aFolder } from '../../support/a-folder.ts'
import { aLocalSystem, hasEnded } from '../../support/local-system/local-system.ts'
import { synthesise, testAssembly } from '../synthesise.ts'

/** Tests what becomes of tasks while the code of their handler changes, and while their stack is deployed again. */

const TASKS = 1_000
const SWAPS = 5
/** Two apps are synthesised, at the same time as other tests. */
const SYNTHESIS_LIMIT_MS = 600_000

let assembly: string
const system = aLocalSystem(async () => {
  assembly = await testAssembly()
  const assemblyDir = aFolder()
  await synthesise('test/system/app-without-probe.ts', assemblyDir)
  return { assemblyDir }
}, SYNTHESIS_LIMIT_MS)

type Resources = Record<
  string,
  { Type: string; Metadata?: Record<string, string>; Properties: Record<string, unknown> }
>

const resourcesIn = (folder: string): Resources =>
  JSON.parse(readFileSync(join(folder, 'Baton.template.json'), 'utf8')).Resources

/** A copy of the probe's code whose runs report `version`. */
function probeOf(version: string): string {
  const resources = resourcesIn(assembly)
  const { logicalId } = system.cloud.functions.find('Probe')
  const folder = aFolder()
  cpSync(join(assembly, resources[logicalId]?.Metadata?.['aws:asset:path'] ?? ''), join(folder, 'code'), {
    recursive: true,
  })
  writeFileSync(
    join(folder, 'index.mjs'),
    `process.env.PROBE_VERSION = '${version}'\nexport { handler } from './code/index.mjs'\n`,
  )
  return folder
}

/** The assembly with a longer lease for new tasks of the probe's type. */
function withAnotherLease(leaseMs: number): string {
  const folder = aFolder()
  cpSync(assembly, folder, { recursive: true })
  const file = join(folder, 'Baton.template.json')
  const template = JSON.parse(readFileSync(file, 'utf8'))
  for (const { Type, Properties } of Object.values(template.Resources as Resources)) {
    if (Type !== 'Custom::BatonType' || Properties.type !== 'probe') continue
    const configuration = JSON.parse(String(Properties.configuration))
    configuration.defaults.leaseMs = leaseMs
    Properties.configuration = JSON.stringify(configuration)
  }
  writeFileSync(file, JSON.stringify(template))
  return folder
}

async function publishMany(prefix: string, type: string, input: (nth: number) => object): Promise<string[]> {
  const tasks = Array.from({ length: TASKS }, (_, nth) => ({
    type,
    key: `${prefix}-${nth}`,
    input: input(nth),
  }))
  await system.publishAll(tasks)
  return tasks.map(task => `${type}:${task.key}`)
}

/** Waits for the end of all tasks. Returns those that did not succeed. A busy machine may lose runs, but no task. */
async function failuresOf(ids: readonly string[]): Promise<unknown[]> {
  const ended = []
  for (const id of ids) ended.push(await system.taskWhen(id, hasEnded))
  return ended.filter(({ status }) => status !== 'succeeded')
}

it(`${TASKS} tasks end while their stack gets a new type and the new type another option`, async () => {
  const ids = await publishMany('words', 'word-count', nth => ({ text: `text ${nth}` }))

  await system.cloud.redeploy(assembly)
  const probed = await system.publish({ type: 'probe', key: 'fresh', input: {} })
  expect(await system.taskWhen(probed, ({ status }) => status === 'succeeded')).toBeDefined()
  await system.cloud.redeploy(withAnotherLease(45_000))

  const leased = await system.publish({ type: 'probe', key: 'leased', input: {} })
  expect(await system.taskWhen(leased, ({ status }) => status === 'succeeded')).toMatchObject({
    options: { leaseMs: 45_000 },
  })
  expect(await failuresOf(ids)).toEqual([])
})

it(`none of ${TASKS} tasks is lost while the code of their handler is replaced ${SWAPS} times`, async () => {
  const ids = await publishMany('swapped', 'probe', () => ({ sleepMs: 50 }))

  for (let swap = 1; swap <= SWAPS; swap += 1) {
    await system.cloud.functions.find('Probe').replaceCode(probeOf(`version ${swap}`))
    const id = await system.publish({ type: 'probe', key: `after-${swap}`, input: {} })
    const { result } = await system.taskWhen(id, ({ status }) => status === 'succeeded')
    expect(result.version).toBe(`version ${swap}`)
  }

  expect(await failuresOf(ids)).toEqual([])
})

it('a run of more than 30 s is released when its code was replaced, and costs no retry', async () => {
  const id = await system.publish({
    type: 'probe',
    key: 'long',
    input: { sleepMs: 55_000, report: system.reportUrl },
  })
  const { runId } = await system.reportWhen(({ event, key }) => event === 'started' && key === 'long')

  await system.cloud.functions.find('Probe').replaceCode(probeOf('next'))

  const again = await system.reportWhen(
    one => one.event === 'started' && one.key === 'long' && one.runId !== runId,
  )
  expect(again).toMatchObject({ attempt: 1 })
  expect(await system.taskWhen(id, ({ runs }) => runs.length === 2)).toMatchObject({
    runs: [{ state: 'released' }, { state: 'running' }],
  })
})
