import { beforeAll, describe, expect, it } from 'vitest'
import { chromiumPath } from '../support/web/browser.ts'
import { aDashboardTab } from '../support/web/dashboard.ts'

/** What a reader can do on the pages, and what becomes of it in the system. */

const HOUR = 3_600_000

describe.skipIf(chromiumPath === undefined)('a reader', () => {
  const { system, page, press, told, complaints } = aDashboardTab()
  const open = (id: string) => page.goto(`/tasks/${encodeURIComponent(id)}`)
  const statusOf = async (id: string) => (await system.call('GET', `/v1/tasks/${id}`)).body.status

  beforeAll(() => system.call('PUT', '/v1/types/by-hand', { kind: 'http' }))

  it('cancels a task, and retries it', async () => {
    const id = await system.publish({ type: 'by-hand', key: 'c1', delayMs: HOUR })
    await open(id)

    await press('Cancel')
    await press('Cancel the task')
    await told('The task was cancelled')
    expect(await statusOf(id)).toBe('cancelled')

    await press('Run again')
    await page.getByRole('dialog').getByRole('button', { name: 'Run again' }).click()
    await told('The task continues')
    expect(await statusOf(id)).not.toBe('cancelled')
  })

  it('changes the priority of a task', async () => {
    const id = await system.publish({ type: 'by-hand', key: 'p1', delayMs: HOUR })
    await open(id)

    await press('Change')
    await page.getByLabel('Priority').fill('7')
    await page.getByRole('dialog').getByRole('button', { name: 'Change' }).click()
    await told('The task was changed')

    expect((await system.call('GET', `/v1/tasks/${id}`)).body.priority).toBe(7)
  })

  it('learns which field is wrong, and loses nothing of what was typed', async () => {
    const id = await system.publish({ type: 'by-hand', key: 'w1', delayMs: HOUR })
    await open(id)

    await press('Change')
    await page.getByLabel('Other fields').fill('{"leaseMs": -1}')
    await page.getByRole('dialog').getByRole('button', { name: 'Change' }).click()

    await told('leaseMs')
    expect(await page.getByLabel('Other fields').inputValue()).toBe('{"leaseMs": -1}')
  })

  it('removes a task, and is asked before', async () => {
    const id = await system.publish({ type: 'by-hand', key: 'r1', delayMs: HOUR })
    await open(id)

    await press('Remove')
    await press('Keep as it is')
    expect(await statusOf(id)).toBe('delayed')
    await press('Remove')
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
    await told('The task was removed')

    expect((await system.call('GET', `/v1/tasks/${id}`)).status).toBe(404)
  })

  it('publishes a copy of a task, with its input', async () => {
    const id = await system.publish({ type: 'by-hand', key: 'o1', input: { page: 4 }, delayMs: HOUR })
    await open(id)

    await press('Publish a copy')
    await page.getByLabel('Key').fill('o2')
    await press('Publish')
    await told('The task was published')
    await page.waitForURL('**/tasks/by-hand%3Ao2')

    expect((await system.call('GET', '/v1/tasks/by-hand:o2')).body.input).toEqual({ page: 4 })
  })

  it('pauses a type, resumes it, and edits it', async () => {
    await page.goto('/types/by-hand')

    await press('Pause')
    await told('by-hand is paused')
    await press('Resume')
    await told('by-hand runs again')
    await press('Edit')
    await press('JSON')
    const field = page.getByRole('textbox', { name: 'Configuration' })
    await field.fill('{"kind": "http", "ordering": "aged"}')
    await press('Save')
    await told('by-hand was changed')

    expect((await system.call('GET', '/v1/types/by-hand')).body.ordering).toBe('aged')
  })

  it('triggers and pauses a schedule', async () => {
    await system.call('PUT', '/v1/schedules/yearly', { cron: '0 3 1 1 *', task: { type: 'by-hand' } })
    await page.goto('/schedules')

    await press('Run now')
    await told('was published')
    await press('Pause')
    await told('yearly is paused')

    expect((await system.call('GET', '/v1/schedules/yearly')).body.paused).toBe(true)
  })

  it('cancels several selected tasks, after a time in which that can be undone', async () => {
    const ids = await Promise.all(
      ['b1', 'b2', 'b3'].map(key => system.publish({ type: 'by-hand', key, delayMs: HOUR, userId: 'bulk' })),
    )
    await page.goto('/tasks?userId=bulk')

    for (const id of ids.slice(0, 2)) await page.getByLabel(`Select ${id}`).check()
    await press('Cancel')
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
    await press('Undo')
    expect(await statusOf('by-hand:b1')).toBe('delayed')

    for (const id of ids.slice(0, 2)) await page.getByLabel(`Select ${id}`).check()
    await press('Cancel')
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
    await page.getByText('Cancel: 2 of 2 done').waitFor()

    expect(await Promise.all(ids.map(statusOf))).toEqual(['cancelled', 'cancelled', 'delayed'])
  })

  it('has the server cancel all tasks that fit a filter, and sees which were left out', async () => {
    await system.call('PUT', '/v1/types/many', { kind: 'http' })
    const tasks = Array.from({ length: 60 }, (_, nth) => ({ type: 'many', key: `m${nth}`, delayMs: HOUR }))
    await system.call('POST', '/v1/tasks/batch', { tasks })
    const select = async (query: string) => {
      await page.goto(`/tasks?${query}`)
      await page
        .getByLabel(/^Select many:/)
        .first()
        .check()
    }

    await select('type=many&until=2100-01-01T00:00:00Z')
    await page.getByText('choose one type').waitFor()
    expect(await page.getByText('all matching', { exact: true }).count()).toBe(0)

    await page.route('**/v1/bulk/*', async route => {
      const answer = await (await route.fetch()).json()
      const { selected, state } = answer
      if (state === 'finished') Object.assign(answer, { done: selected - 2, leftOut: { changed: 2 } })
      await route.fulfill({ json: answer })
    })
    await select('type=many')
    await press('all matching')
    await press('Cancel')
    await page.getByRole('dialog').getByText('continues when this page is closed').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
    await page.getByText('Cancel: 58 of 60 done, 2 left out').waitFor()
    await page.getByText('2 tasks left out').click()
    await page.getByText('changed meanwhile').waitFor()

    expect(await statusOf('many:m0')).toBe('cancelled')
    expect((await system.call('GET', '/v1/types/many')).body.operations.at(-1).what).toBe('bulk')
  })

  it('goes by keys: to pages, through a list, and by the palette', async () => {
    await page.goto('/')
    await page.getByRole('heading', { name: 'Overview' }).waitFor()

    await page.keyboard.press('g')
    await page.keyboard.press('y')
    await page.waitForURL('**/types')
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox').fill('by-hand:c1')
    await page.keyboard.press('Enter')
    await page.waitForURL('**/tasks/by-hand%3Ac1')

    await page.getByRole('heading', { name: 'c1' }).waitFor()
  })

  it('keeps the chosen theme', async () => {
    await page.goto('/')

    await page.getByRole('button', { name: 'Theme: system' }).click()
    await page.getByRole('button', { name: 'Theme: light' }).click()
    await page.reload()

    await page.getByRole('button', { name: 'Theme: dark' }).waitFor()
    expect(await page.locator('html').getAttribute('data-theme')).toBe('dark')
  })

  it('sees a broken connection, and what happened meanwhile once it is back', async () => {
    const id = await system.publish({ type: 'by-hand', key: 'off', delayMs: HOUR })
    await open(id)
    await page.getByText('delayed', { exact: true }).waitFor()

    await page.context().setOffline(true)
    await page.getByText('The system does not answer.').first().waitFor()
    await system.call('POST', `/v1/tasks/${id}/cancel`, {})
    await page.context().setOffline(false)

    await page.getByText('cancelled', { exact: true }).first().waitFor()
    expect(await page.getByText('The system does not answer.').count()).toBe(0)
  })

  it('meets input that is hostile or huge as text, on demand', async () => {
    const text = `<script>alert(1)</script>\u202E${'x'.repeat(300_000)}`
    const id = await system.publish({ type: 'by-hand', key: 'h1', input: { text }, delayMs: HOUR })
    await open(id)

    await page.getByText('show all').click()
    await page.waitForFunction("(document.querySelector('.json-string')?.textContent?.length ?? 0) > 300_000")

    expect(await page.locator('main script').count()).toBe(0)
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
    expect(complaints()).toEqual([])
  })

  it('asks nothing while the tab is hidden', async () => {
    await page.goto('/tasks?type=by-hand')
    await page.getByRole('table', { name: 'Tasks' }).waitFor()
    await page.evaluate(`
      Object.defineProperty(document, 'visibilityState', { value: 'hidden' })
      document.dispatchEvent(new Event('visibilitychange'))`)
    const asked: string[] = []
    // The code of other pages may still be loaded.
    page.on('request', request => void (request.url().includes('/v1/') && asked.push(request.url())))

    await system.publish({ type: 'by-hand', key: 'unseen', delayMs: HOUR })
    await page.waitForTimeout(7_000)

    expect(asked).toEqual([])
  })
})
