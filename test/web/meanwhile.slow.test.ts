import { beforeAll, describe, expect, it } from 'vitest'
import { chromiumPath } from '../support/web/browser.ts'
import { aDashboardTab } from '../support/web/dashboard.ts'

/** What a reader meets when another person changes the same thing meanwhile. */

describe.skipIf(chromiumPath === undefined)('a reader', () => {
  const { system, page, press, told } = aDashboardTab()

  beforeAll(() => system.call('PUT', '/v1/types/letter', { kind: 'http' }))

  it('leaves a failed task alone that another person has changed meanwhile', async () => {
    await system.call('PUT', '/v1/types/lost', { kind: 'http' })
    const id = await system.publish({ type: 'lost', key: 'twice', retry: { maxRetries: 0 } })
    const { body } = await system.call('POST', '/v1/claims', { type: 'lost', workerId: 'w1', waitMs: 20_000 })
    const [{ run }] = body.claims
    await system.call('POST', `/v1/tasks/${id}/runs/${run.id}/fail`, {
      fence: run.fence,
      error: { name: 'Error', message: 'the stamp is missing' },
    })
    await page.route('**/retry', async route => {
      await system.call('POST', `/v1/tasks/${id}/retry`, {})
      await route.continue()
    })
    await page.goto('/tasks?type=lost')

    await page.getByLabel(`Select ${id}`).check()
    await press('Retry')
    await page.getByRole('dialog').getByRole('button', { name: 'Retry' }).click()

    await page.getByText('Retry: 0 of 1 done').waitFor()
    await page.getByText('1 task left out').click()
    expect((await system.call('GET', `/v1/tasks/${id}`)).body.operations).toHaveLength(1)
  })

  it('learns that another person has changed the type that is edited, and starts over', async () => {
    await system.call('PUT', '/v1/types/edited', { kind: 'http', shards: 2 })
    await page.goto('/types/edited')
    await press('Edit')
    await press('JSON')
    const text = page.getByRole('dialog').getByRole('textbox', { name: 'Configuration' })
    await text.fill('{"kind": "http", "shards": 2, "events": true}')
    await system.call('PUT', '/v1/types/edited', { kind: 'http', shards: 2, ordering: 'priority' })

    await press('Save')
    const note = page.getByRole('dialog').getByRole('alert')
    await note.getByText('changed it last').waitFor()
    expect(await text.inputValue()).toContain('events')
    await press('Start over from the present state')
    await note.waitFor({ state: 'detached' })
    await press('JSON')
    await expect.poll(() => text.inputValue()).toContain('"ordering": "priority"')
    await text.fill('{"kind": "http", "shards": 2, "events": true}')
    await press('Save')

    await told('edited was changed')
    expect((await system.call('GET', '/v1/types/edited')).body).toMatchObject({ events: true })
  })

  it('does not replace a schedule that another person has just created', async () => {
    await page.route('**/v1/schedules?*', route => route.fulfill({ json: { items: [] } }))
    await page.goto('/schedules')
    await press('New schedule')
    await page.getByLabel('Name').fill('weekly')
    await system.call('PUT', '/v1/schedules/weekly', {
      cron: '0 3 * * 1',
      task: { type: 'letter', input: {} },
    })

    await press('Create')

    await page.getByRole('dialog').getByRole('alert').getByText('Another person was faster.').waitFor()
    expect((await system.call('GET', '/v1/schedules/weekly')).body.cron).toBe('0 3 * * 1')
  })
})
