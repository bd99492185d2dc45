import { describe, expect, it } from 'vitest'
import { chromiumPath } from '../support/web/browser.ts'
import { aDashboard } from '../support/web/dashboard.ts'

/** Lists and groups of 10,000 tasks. Answers are made up where the pages are under test, not the table. */

const TASKS = 10_000
const PAGE_TASKS = 50
/** The rows that may be in the document at a time, however many are loaded. */
const ROWS_MAX = 100

const aTask = (index: number) => ({
  id: `clip:${index}`,
  type: 'clip',
  key: String(index),
  status: 'succeeded',
  dueAt: '2026-01-01T00:00:00.000Z',
  createdAt: '2026-01-01T00:00:00.000Z',
  priority: 0,
  attempts: { used: 1, left: 3 },
  runs: [],
  history: [],
})

describe.skipIf(chromiumPath === undefined)('10,000 tasks', () => {
  const { system, aReader } = aDashboard()

  it('are scrolled through to the last one, with few rows in the document', async () => {
    const { page } = await aReader()
    await page.route('**/v1/tasks?*', (route, request) => {
      const from = Number(new URL(request.url()).searchParams.get('cursor') ?? 0)
      const items = Array.from({ length: PAGE_TASKS }, (_, index) => aTask(from + index))
      const next = from + PAGE_TASKS
      return route.fulfill({ json: { items, ...(next < TASKS && { nextCursor: String(next) }) } })
    })
    await page.goto('/tasks?type=clip&status=succeeded')
    await page.getByRole('row').nth(1).waitFor()

    const last = page.getByRole('link', { name: String(TASKS - 1), exact: true })
    while (!(await last.isVisible())) {
      await page.evaluate('scrollTo(0, document.documentElement.scrollHeight)')
      await page.waitForTimeout(5)
    }

    expect(await page.getByRole('table').getAttribute('aria-rowcount')).toBe(String(TASKS + 1))
    expect(await page.getByRole('row').count()).toBeLessThan(ROWS_MAX)
  })

  it('of one group are drawn page by page', async () => {
    const { page } = await aReader()
    await page.route('**/v1/canvases/*', (route, request) => {
      const { searchParams } = new URL(request.url())
      const from = Number(searchParams.get('cursor') ?? 0)
      const size = Number(searchParams.get('limit'))
      const items = Array.from({ length: size }, (_, index) => ({
        path: `group.${from + index}`,
        taskId: `clip:${from + index}`,
        status: 'succeeded',
      }))
      const next = from + size
      const counts = { succeeded: TASKS }
      const head = { id: 'canvas:big', status: 'succeeded', counts, createdAt: '2026-01-01T00:00:00.000Z' }
      return route.fulfill({ json: { ...head, items, ...(next < TASKS && { nextCursor: String(next) }) } })
    })
    await page.goto('/canvases/canvas%3Abig')
    await page.locator('.member').first().waitFor()

    while ((await page.locator('.member').count()) < 1_000) {
      await page.getByRole('button', { name: 'Show more: ' }).click()
      await page.waitForTimeout(5)
    }

    expect(await page.getByText('10,000').first().isVisible()).toBe(true)
  })

  it('that one group has published are shown as a whole, and a thousand at a time', async () => {
    await system.call('PUT', '/v1/types/by-hand', { kind: 'http' })
    const group = Array.from({ length: TASKS }, () => ({ type: 'by-hand' }))
    const { status } = await system.call('POST', '/v1/canvases', { key: 'crowd', group })
    expect(status).toBe(202)
    const { page } = await aReader()

    await page.goto('/canvases/canvas%3Acrowd')
    await page.locator('.tile strong').getByText('10,000').waitFor()
    await page.getByRole('button', { name: 'Show more: 100 of 10,000 tasks' }).click()
    await page.getByRole('button', { name: 'Show more: 1,100 of 10,000 tasks' }).waitFor()

    expect(await page.locator('.member').count()).toBe(1_100)
    await page.locator('.member').nth(1_050).click()
    await page.waitForURL('**/tasks/by-hand*')
  })
})
