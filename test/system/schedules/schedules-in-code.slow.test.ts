import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { aFolder } from '../../support/a-folder.ts'
import { aLocalSystem, hasEnded } from '../../support/local-system/local-system.ts'
import { synthesise } from '../synthesise.ts'

/** The schedules of an app's code: deployed, changed, rolled back and removed, in this order. */

const SYNTHESIS_LIMIT_MS = 600_000

const assembly = aFolder()
const system = aLocalSystem(async () => {
  await synthesise('test/system/app-with-schedules.ts', assembly)
  return { assemblyDir: assembly }
}, SYNTHESIS_LIMIT_MS)

type Resource = { Type: string; Properties: { schedule: string; body: unknown } }

/** The assembly with another body of a schedule, with further schedules, or without a schedule. */
function withSchedules(bodies: Readonly<Record<string, object | undefined>>): string {
  const folder = aFolder()
  cpSync(assembly, folder, { recursive: true })
  const file = join(folder, 'Baton.template.json')
  const template = JSON.parse(readFileSync(file, 'utf8')) as { Resources: Record<string, Resource> }
  const resources = Object.entries(template.Resources)
  const idOf = (name: string) => resources.find(([, one]) => one.Properties?.schedule === name)?.[0]
  const [, like] = resources.find(([, one]) => one.Type === 'Custom::BatonSchedule') ?? []
  const edited = Object.entries(bodies).map(([name, body]) => {
    const properties = { ...like?.Properties, schedule: name, body: JSON.stringify(body) }
    return [idOf(name) ?? name, body && { ...like, Properties: properties }] as const
  })
  const Resources = Object.fromEntries([...resources, ...edited].filter(([, one]) => one))
  for (const [id, one] of edited) if (!one) delete Resources[id]
  writeFileSync(file, JSON.stringify({ ...template, Resources }))
  return folder
}

const get = async (name: string) => (await system.call('GET', `/v1/schedules/${name}`)).body
const OTHER = { cron: '0 4 29 2 *', task: { type: 'report', input: { days: 2 } } }
const BY_HTTP = { everyMs: 604_800_000, task: { type: 'report' } }

it('schedules of a handler’s file and of the app exist after the deployment, and their tasks run', async () => {
  const { body } = await system.call('POST', '/v1/schedules/nightly/trigger')

  expect(await get('nightly')).toMatchObject({ managedBy: 'Baton', timezone: 'Europe/Berlin', revision: 0 })
  expect(await get('Weekly')).toMatchObject({ everyMs: 604_800_000, task: { input: { in: 'us-east-1' } } })
  expect(await system.taskWhen(body.taskId, hasEnded)).toMatchObject({ result: { reported: { days: 1 } } })
})

it('HTTP changes and removes none of them', async () => {
  for (const [method, sent] of [['PUT', BY_HTTP], ['DELETE']] as const) {
    const { status, body } = await system.call(method, '/v1/schedules/nightly', sent)
    expect([status, body.detail]).toEqual([409, expect.stringContaining('the stack Baton keeps nightly')])
  }
})

it('a deployment changes them; a pause stays, and what has not changed is not touched', async () => {
  await system.call('POST', '/v1/schedules/nightly/pause')
  const weekly = await get('Weekly')

  await system.cloud.redeploy(withSchedules({ nightly: OTHER }))

  expect(await get('nightly')).toMatchObject({ ...OTHER, paused: true, managedBy: 'Baton' })
  expect(await get('Weekly')).toEqual(weekly)
})

it('a schedule that was made over HTTP is not taken over: the deployment fails and is rolled back', async () => {
  await system.call('PUT', '/v1/schedules/taken', BY_HTTP)

  const failed = system.cloud.redeploy(
    withSchedules({ nightly: { ...OTHER, cron: '0 5 29 2 *' }, fresh: BY_HTTP, taken: OTHER }),
  )

  await expect(failed).rejects.toThrow("schedule 'taken' exists already: it was made over HTTP")
  expect(await get('nightly')).toMatchObject({ ...OTHER, paused: true })
  expect((await get('taken')).managedBy).toBeUndefined()
  expect((await system.call('GET', '/v1/schedules/fresh')).status).toBe(404)
})

it('a deployment without a schedule removes it, and its name is free', async () => {
  await system.cloud.redeploy(withSchedules({ nightly: undefined }))

  expect((await system.call('GET', '/v1/schedules/nightly')).status).toBe(404)
  expect((await system.call('PUT', '/v1/schedules/nightly', BY_HTTP)).status).toBe(201)
})
