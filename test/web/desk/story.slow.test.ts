import { beforeAll, describe, expect, it } from 'vitest'
import { pathOf } from '../../../shared/api/endpoints.ts'
import { chromiumPath } from '../../support/web/browser.ts'
import { aDashboard } from '../../support/web/dashboard.ts'

/** What an operator learns from the page of a task, and how an operator comes there. */

const HOUR = 3_600_000
const REFUSED = { name: 'CardRefused', message: 'the card was refused', stack: 'at pay (pay.ts:3)' }

describe.skipIf(chromiumPath === undefined)('an operator', () => {
  const { system, aReader } = aDashboard()
  const open = async (path: string) => {
    const { page, complaints } = await aReader()
    await page.goto(path)
    return { page, complaints }
  }
  const pageOf = (id: string) => `/tasks/${encodeURIComponent(id)}`
  const claim = async (type: string) => {
    const { body } = await system.call('POST', '/v1/claims', { type, workerId: `of-${type}`, waitMs: 20_000 })
    return body.claims[0].run
  }

  beforeAll(async () => {
    const defaults = { retry: { maxRetries: 1, backoff: 'fixed', delayMs: 1 }, leaseMs: HOUR, liveLog: true }
    await system.call('PUT', '/v1/types/pay', { kind: 'http', defaults })
    const limits = { concurrency: { max: 1 } }
    await system.call('PUT', '/v1/types/order', { kind: 'http', defaults, limits })
  })

  it('reads the story of a task in order of time, follows its log, and compares its attempts by keys', async () => {
    const id = await system.publish({ type: 'pay', key: 'story', delayMs: 1_500 })
    const first = await claim('pay')
    await system.call('POST', pathOf('fail', id, first.id), { fence: first.fence, error: REFUSED, log: 'no' })
    const second = await claim('pay')
    const { page, complaints } = await open(pageOf(id))
    const beat = (log: string) =>
      system.call('POST', pathOf('heartbeat', id, second.id), { fence: second.fence, log })

    await page.getByText('Attempt 2', { exact: true }).waitFor()
    await beat('2026-01-01T00:00:00.000Z INFO asks the bank')
    await page.getByLabel('Live log').getByText('asks the bank').waitFor()
    await beat('2026-01-01T00:00:01.000Z INFO waits for the bank')
    await page.getByLabel('Live log').getByText('waits for the bank').waitFor()
    expect(await page.getByLabel('Live log').textContent()).toContain('asks the bank')
    const result = { paid: true }
    await system.call('POST', pathOf('succeed', id, second.id), { fence: second.fence, result })

    await page.getByText(/^Ended after/).waitFor()
    const titles = await page.locator('.entry strong').allTextContents()
    expect(titles[1]).toMatch(/^Waited \d.* for its first attempt$/)
    // A busy machine waits between the attempts, too.
    expect(titles.filter(title => !/^(Waited|CardRefused)/.test(title))).toEqual([
      ...['Published', 'Attempt 1', 'Attempt 2', expect.stringMatching(/^Ended after/)],
    ])
    await page.getByRole('button', { name: 'Compare attempts' }).focus()
    await page.keyboard.press('Enter')
    const differing = page.getByRole('dialog').getByRole('row').filter({ hasText: 'differs' })
    await differing.filter({ hasText: 'Error' }).getByText(REFUSED.message).waitFor()
    expect(await differing.filter({ hasText: 'Worker' }).count()).toBe(0)
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect(complaints).toEqual([])
  })

  it('reads the final error once in full, whatever repeats it in the answer', async () => {
    const id = await system.publish({ type: 'pay', key: 'refused' })
    for (const _attempt of [1, 2]) {
      const run = await claim('pay')
      await system.call('POST', pathOf('fail', id, run.id), { fence: run.fence, error: REFUSED })
    }
    const { page } = await open(pageOf(id))

    const verdict = page.locator('.verdict')
    await verdict.getByText(REFUSED.message).waitFor()
    await page.getByText('with the next attempt').waitFor()
    expect(await page.locator('.error').count()).toBe(1)
    expect(await page.getByText(REFUSED.message).count()).toBe(2)
    expect(await verdict.textContent()).not.toContain('POST /v1')
  })

  it('sees the exact time by hover and by focus, and copies it', async () => {
    const id = await system.publish({ type: 'pay', key: 'times\u202E', delayMs: HOUR })
    const { createdAt } = (await system.call('GET', pathOf('get', id))).body
    const { page } = await open(pageOf(id))
    const published = page.locator('.entry').filter({ hasText: 'Published' }).getByRole('button')

    await page.getByText('Waits for its time', { exact: true }).waitFor()
    await published.focus()
    await page.locator('.exact-time:popover-open').getByText(createdAt).waitFor()
    expect(await published.getAttribute('title')).toContain(createdAt)
    await page.keyboard.press('Enter')
    await page.getByText(`Copied ${createdAt}`).waitFor()

    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(createdAt)
    expect(await page.title()).toBe(String.raw`pay:times\u202e · Baton`)
  })

  it('reads the values of a chart as a table', async () => {
    await system.publish({ type: 'pay', key: 'counted', delayMs: HOUR })
    const { page } = await open('/types/pay')
    const chart = page.getByRole('region', { name: 'Published per minute' })

    await chart.getByText('Values').focus()
    await page.keyboard.press('Enter')

    await chart.getByRole('row').nth(1).waitFor()
    expect(await chart.locator('.chart-axis').textContent()).toMatch(/^(\d\d:(00|15|30|45)){3,5}$/)
  })

  it('learns in five actions why order-17 hangs, and ends what it waits for', async () => {
    await system.publish({ type: 'order', key: 'order-16' })
    await claim('order')
    await system.publish({ type: 'order', key: 'order-17' })
    const { page } = await open('/')
    await page.getByRole('heading', { name: 'Overview' }).waitFor()

    await page.keyboard.press('Control+k')
    await page.getByRole('combobox').fill('order:order-17')
    await page.keyboard.press('Enter')
    await page.getByText(/^Waits for a permit of order/).waitFor()
    await page.getByRole('link', { name: 'order:order-16' }).click()
    await page.getByRole('button', { name: 'Cancel', exact: true }).click()
    await page.getByRole('button', { name: 'Cancel the task' }).click()

    await system.taskWhen('order:order-16', ({ status }) => status === 'cancelled')
  })

  it('sends a colleague the address of a list and of a task, which open the same view', async () => {
    await system.publish({ type: 'pay', key: 'shared', delayMs: HOUR, userId: 'ada' })
    const { page } = await open('/tasks')

    await page.getByLabel('Type', { exact: true }).selectOption('pay')
    await page.getByRole('button', { name: 'delayed' }).click()
    await page.getByRole('link', { name: 'shared' }).waitFor()
    const list = await open(page.url())
    await page.getByRole('link', { name: 'shared' }).click()
    await page.getByRole('heading', { name: 'shared' }).waitFor()
    const task = await open(page.url())

    await list.page.getByRole('link', { name: 'shared' }).waitFor()
    expect(await list.page.getByLabel('Type', { exact: true }).inputValue()).toBe('pay')
    expect(await list.page.getByRole('button', { name: 'delayed' }).getAttribute('aria-pressed')).toBe('true')
    await task.page.getByRole('heading', { name: 'shared' }).waitFor()
  })
})
