import { beforeAll, describe, expect, it } from 'vitest'
import { chromiumPath, type Reader } from '../support/web/browser.ts'
import { aDashboard } from '../support/web/dashboard.ts'

/** Each page of the dashboard, in a real browser on a real system. */

const HOSTILE = '<img src=x onerror="document.title=1"><script>document.title=2</script>\u202Etxt'

describe.skipIf(chromiumPath === undefined)('the dashboard', () => {
  const { system, aReader } = aDashboard()
  let reader: Reader

  beforeAll(async () => {
    reader = await aReader()
    await system.call('PUT', '/v1/types/by-hand', { kind: 'http' })
    await system.call('PUT', '/v1/schedules/nightly', { cron: '0 3 * * *', task: { type: 'by-hand' } })
    await system.publish({ type: 'by-hand', key: 'letter-1', input: { text: HOSTILE }, userId: 'ada' })
    await system.call('POST', '/v1/canvases', {
      key: 'album',
      chain: [{ type: 'by-hand' }, { group: [{ type: 'by-hand' }, { type: 'by-hand' }] }],
    })
  })

  it.each([
    ['/', 'Overview', 'No worker serves by-hand'],
    ['/tasks?type=by-hand', 'Tasks', 'letter-1'],
    ['/tasks/by-hand%3Aletter-1', 'letter-1', 'Timeline'],
    ['/canvases/canvas%3Aalbum', 'canvas:album', 'Graph'],
    ['/failures', 'Failures', 'Nothing has failed'],
    ['/dead-letters', 'Dead letters', 'No message was given up'],
    ['/types', 'Types', 'by-hand'],
    ['/types/by-hand', 'by-hand', 'Configuration'],
    ['/schedules', 'Schedules', 'nightly'],
    ['/workers', 'Workers', 'webhook'],
    ['/events', 'Events', 'Nothing has happened yet'],
    ['/tasks/by-hand%3Anone', 'by-hand:none', 'There is no such task'],
    ['/nowhere', '', 'There is no page at this address'],
  ])('shows %s', async (path, heading, text) => {
    const { page } = reader

    await page.goto(path)

    await page.getByRole('main').getByText(text).first().waitFor()
    if (heading !== '') await page.getByRole('heading', { level: 1, name: heading }).waitFor()
  })

  it('shows what a task brings with it as text only', async () => {
    const { page } = reader

    await page.goto('/tasks/by-hand%3Aletter-1')
    await page.getByText('onerror').waitFor()

    expect(await page.locator('main img, main script').count()).toBe(0)
    expect(await page.getByText('onerror').textContent()).toContain(String.raw`\u202etxt`)
    expect(await page.title()).toBe('by-hand:letter-1 · Baton')
  })

  it('shows a change of a task without a reload', async () => {
    const { page } = reader
    await page.goto('/tasks/by-hand%3Aletter-1')
    await page.getByText('ready', { exact: true }).waitFor()

    await system.call('POST', '/v1/tasks/by-hand:letter-1/cancel', {})

    await page.getByText('cancelled', { exact: true }).first().waitFor()
  })

  it('is complained of by the browser nowhere', () => {
    expect(reader.complaints).toEqual([])
  })
})
