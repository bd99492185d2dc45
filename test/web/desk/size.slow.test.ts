import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Page } from 'playwright-core'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { writeTasks } from '../../support/local-system/write-tasks.ts'
import { anEndedRun, aRun, aTask, HOUR } from '../../support/tasks/a-task.ts'
import { chromiumPath } from '../../support/web/browser.ts'
import { aDashboardTab } from '../../support/web/dashboard.ts'

/** What an operator of a large system meets: many tasks of 50 types, an outage, a new version, and links of other sites. */

const TYPES = 50
/** Ten types together have more tasks than an order in memory may sort. */
const TASKS_OF_TYPE = 110
const LONG_TYPE = `type-7-${'long'.repeat(22)}`
const HOSTILE = '<img src=x onerror=alert(1)>\u202Etxt'
const typeName = (nth: number) => (nth === 7 ? LONG_TYPE : `type-${nth}`)

/** Of each type the first tasks are failed, running, ready, retried and delayed; all others have succeeded. */
function taskOf(nth: number, now: number) {
  const ofType = Math.floor(nth / TYPES)
  const at = now - HOUR + nth * 500
  const head = {
    ...({ type: typeName(nth % TYPES), key: `order-${ofType}`, kind: 'http', ordering: 'priority' } as const),
    ...{ shard: ofType % 4, createdAt: at, updatedAt: at, dueAt: at },
  }
  const error = { name: 'TimeoutError', message: `no answer of the shop ${HOSTILE}` }
  const began = { startedAt: at, fence: 1 }
  if (ofType === 0)
    return aTask({ ...head, ...began, state: 'failed', error, finishedAt: at + 1_300, userId: `user-${nth}` })
  if (ofType === 1)
    return aTask({
      ...head,
      ...began,
      live: [aRun({ workerId: 'worker-9', startedAt: at, leaseUntil: now + HOUR })],
    })
  if (ofType === 2) return aTask({ ...head, tags: { team: `red-${nth}` } })
  if (ofType === 3) {
    const ended = [anEndedRun({ state: 'failed', startedAt: at, endedAt: at, error })]
    return aTask({ ...head, ended, dueAt: now + HOUR, retrying: true })
  }
  if (ofType === 4) return aTask({ ...head, dueAt: now + 2 * HOUR })
  return aTask({ ...head, ...began, state: 'succeeded', finishedAt: at + 20 })
}

describe.skipIf(chromiumPath === undefined)('with 5,500 tasks of 50 types', () => {
  const { system, page, complaints, press } = aDashboardTab()
  const rows = () => page.getByRole('table', { name: 'Tasks' }).getByRole('row')
  const names = () => page.locator('.row-name a').allTextContents()

  beforeAll(async () => {
    for (let nth = 0; nth < TYPES; nth++)
      await system.call('PUT', `/v1/types/${typeName(nth)}`, { kind: 'http' })
    const now = Date.now()
    await writeTasks(system, TYPES * TASKS_OF_TYPE, nth => taskOf(nth, now))
  })

  it('the Tasks page lists them in every order that it offers, and the tiles lead to lists', async () => {
    await page.goto('/tasks?order=-created')
    await rows().nth(10).waitFor({ timeout: 180_000 })
    expect((await names()).slice(0, 3)).toEqual(['order-109', 'order-109', 'order-109'])
    for (const query of [
      '',
      'status=failed&status=ready',
      'status=ready',
      'userId=user-3',
      `type=${LONG_TYPE}`,
    ]) {
      await page.goto(`/tasks?${query}`)
      const orders = await page.locator('#order').locator('option').evaluateAll(ORDER_VALUES)
      for (const order of orders) {
        await page.locator('#order').selectOption(order)
        await rows().nth(1).waitFor()
      }
    }
    for (const status of ['failed', 'running', 'succeeded', 'delayed', 'ready']) {
      await page.goto('/')
      await page.locator(`.tile:has-text("${status}")`).click()
      await rows().nth(1).waitFor()
    }
    expect(await page.getByRole('alert').count()).toBe(0)
    expect(complaints()).toEqual([])
  })

  it('shows for each status what helps: the error and how long it took, the worker, why and since when it waits', async () => {
    const situation = page.locator('.row-state').first()
    const seen: string[] = []
    for (const query of ['status=failed', 'status=running', 'status=ready', 'status=delayed&order=due']) {
      await page.goto(`/tasks?${query}`)
      seen.push((await situation.innerText()).replaceAll('\u00a0', ' '))
    }

    expect(seen).toEqual([
      expect.stringMatching(/^1\.3 s TimeoutError: no answer of the shop <img src=x .*\\u202etxt$/),
      expect.stringMatching(/^\d+ (h|min).* on worker-9$/),
      expect.stringMatching(
        /^\d+ (h|min).* (waits for a worker: none serves its type|no worker is there|waits to be claimed)$/,
      ),
      expect.stringMatching(/^waits for its retry after TimeoutError: no answer of the shop/),
    ])
  })

  it('a key is found in every type, from the palette and from the Tasks page, by keyboard alone', async () => {
    const { keyboard } = page
    await page.goto('/')
    await page.getByRole('table').first().waitFor()
    await keyboard.press('Control+k')
    await keyboard.type('order-17')
    await page.getByText('8 tasks found so far').waitFor()
    expect(await page.getByRole('option').first().innerText()).toMatch(
      /^order-17\s+type-0 · succeeded \d+ min ago · key$/,
    )
    await keyboard.press('ArrowDown')
    await keyboard.press('Enter')
    await page.waitForURL('**/tasks/type-1%3Aorder-17')

    await keyboard.press('g')
    await keyboard.press('t')
    await page.getByLabel('Search tasks').waitFor()
    await keyboard.press('/')
    await keyboard.type('order-17')
    await page.getByText('50 tasks found').waitFor()
    expect(new Set(await names())).toEqual(new Set(['order-17']))
    expect(new URL(page.url()).searchParams.get('q')).toBe('order-17')
    await page.goBack()
    expect(await page.getByLabel('Search tasks').inputValue()).toBe('')
  })

  it.each([
    ['type-3:order-9', 'type-3 · by id', 1],
    ['user-12', 'type-12 · by user', 1],
    ['team:red-107', LONG_TYPE, 1],
    ['red-107', LONG_TYPE, 1],
    ['No Answer of', 'type-0 · by error', 2],
  ])('%s finds its tasks', async (q, found, least) => {
    await page.goto(`/tasks?q=${encodeURIComponent(q)}`)
    const further = page.getByRole('button', { name: /^Search/ })
    const first = page.locator('.row-name .faint').filter({ hasText: found }).first()
    while (!(await first.isVisible())) {
      if (await further.isEnabled().catch(() => false)) await further.click()
      await page.waitForTimeout(100)
    }

    expect(await page.locator('.row-name').count()).toBeGreaterThanOrEqual(least)
  })

  it('says that nothing is found, and why a search fails', async () => {
    await page.goto('/tasks?q=nothing-like-this')
    await page.getByText('Nothing found').waitFor()
    await page.goto(`/tasks?q=${'x'.repeat(400)}`)
    await page.getByRole('alert').getByText('q ').waitFor()
  })

  it('a view keeps filters, order and columns under a name, and its link shows the same elsewhere', async () => {
    await page.goto('/tasks?status=failed&order=ended')
    await press('More')
    await page.getByLabel('Runs').uncheck()
    await page.getByLabel('Error contains').fill('TimeoutError')
    await page.keyboard.press('Enter')
    await page.waitForURL('**error=TimeoutError**')
    await press('Views')
    await page.getByLabel('Keep the present view as').fill('Timeouts')
    await page.keyboard.press('Enter')
    await page.getByRole('link', { name: 'Timeouts' }).waitFor()
    await press('Copy link')
    const link = await page.evaluate<string>('navigator.clipboard.readText()')

    await page.goto('/tasks')
    await press('Views')
    await page.getByRole('link', { name: 'Timeouts' }).click()
    await page.waitForURL('**error=TimeoutError**')
    expect(sorted(page.url())).toEqual(sorted(link))
    const headers = () => page.getByRole('columnheader').allInnerTexts()
    await expect.poll(headers).not.toContain('Runs')
    await page.evaluate('localStorage.clear()')
    await page.goto(link)
    await expect
      .poll(headers)
      .toEqual(['', 'Status', 'Task', 'Waits for, or ended by', 'User', 'Due or ended'])
  })

  it('says so when the browser keeps no views', async () => {
    await page.addInitScript(
      "Storage.prototype.setItem = () => { throw new Error('The quota is exceeded.') }",
    )
    await page.goto('/tasks')
    await press('Views')
    await page.getByLabel('Keep the present view as').fill('mine')
    await press('Keep')

    await page
      .getByText('This browser does not keep the view: The quota is exceeded. Copy the link')
      .waitFor()
  })

  it.each(['/', '/tasks', '/events'])(
    'the heap of %s stays below 50 MB with the events of ten minutes',
    async path => {
      let sent = 0
      await page.route('**/v1/events', route => {
        const body =
          sent < EVENTS ? Array.from({ length: 1_000 }, (_, nth) => eventText(sent + nth)).join('') : ''
        sent += 1_000
        return route.fulfill({ contentType: 'text/event-stream', body })
      })
      await page.goto(path)
      await expect.poll(() => sent).toBeGreaterThan(EVENTS)

      const [tab] = page.context().pages()
      const cdp = await page.context().newCDPSession(tab ?? page)
      await cdp.send('HeapProfiler.collectGarbage')
      const { usedSize } = await cdp.send('Runtime.getHeapUsage')
      console.log(`heap of ${path} after ${EVENTS} events: ${(usedSize / 1e6).toFixed(1)} MB`)
      expect(usedSize).toBeLessThan(50e6)
    },
  )

  it('no list is wider than a phone', async () => {
    await page.setViewportSize({ width: 390, height: 844 })
    for (const path of [`/tasks?type=${LONG_TYPE}`, '/tasks?q=order-17', '/tasks?status=failed']) {
      await page.goto(path)
      await rows().nth(1).waitFor()
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390)
    }
  })
})

/** Twenty a second for ten minutes. */
const EVENTS = 12_000

function eventText(nth: number): string {
  const [type, key] = [typeName(nth % TYPES), `order-${nth % 2_000}`]
  const status = nth % 2 === 0 ? 'running' : 'succeeded'
  const event = {
    id: `e${nth}`,
    type: 'task.succeeded',
    taskId: `${type}:${key}`,
    taskType: type,
    status,
    at: new Date(nth).toISOString(),
  }
  return `id: e${nth}\nevent: task.succeeded\ndata: ${JSON.stringify(event)}\n\n`
}

const sorted = (url: string) => [...new URL(url).searchParams].map(pair => pair.join('=')).sort()

const ORDER_VALUES = (options: unknown[]) => options.map(option => (option as { value: string }).value)

describe.skipIf(chromiumPath === undefined)('a reader is not lost', () => {
  const { system, page } = aDashboardTab()
  const heading = (name: string) => page.getByRole('heading', { level: 1, name }).waitFor()
  const open = (name: string) => page.getByRole('navigation').getByRole('link', { name, exact: true }).click()
  let loads = 0

  beforeEach(() => {
    loads = 0
    page.on('load', () => {
      loads += 1
    })
  })

  it('when the system ends: the code of all pages is there already', async () => {
    await page.goto('/')
    await heading('Overview')
    await expect.poll(() => page.evaluate<boolean>(IS_LAST_PAGE_LOADED)).toBe(true)

    await page.context().setOffline(true)
    for (const name of ['Tasks', 'Failures', 'Dead letters', 'Types', 'Schedules', 'Workers', 'Events']) {
      await open(name)
      await heading(name)
    }
    await page.context().setOffline(false)
    expect(loads).toBe(1)
  })

  it('when the system ends before that: the app stays, says so, and tries again', async () => {
    await withoutIdleTime(page)
    await page.goto('/')
    await heading('Overview')
    await page.route(/workers-page|index\.html/, route => route.abort())

    await open('Workers')
    await page.getByText('The code of this page is not loaded yet, and the system does not answer.').waitFor()
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByText('The code of this page is not loaded yet').waitFor()
    await page.unroute(/workers-page|index\.html/)
    await page.getByRole('button', { name: 'Try again' }).click()

    await heading('Workers')
    expect(loads).toBe(1)
  })

  it('when a new version is installed: the app loads itself again, once', async () => {
    await withoutIdleTime(page)
    await page.goto('/')
    await heading('Overview')
    await page.route(/workers-page/, route => route.fulfill({ status: 404, body: '' }))

    await open('Workers')
    await page.getByText('The code of this page is not on the server').waitFor()
    expect(loads).toBe(2)
    await page.unroute(/workers-page/)
    await page.getByRole('button', { name: 'Try again' }).click()

    await heading('Workers')
  })

  it('by a link of another site, which can do nothing else', async () => {
    const to = `${system.cloud.apiUrl}/types`
    const other = createServer((_request, response) => {
      response.setHeader('content-type', 'text/html')
      response.end(`<a href="${to}">from the chat</a><iframe src="${to}"></iframe>`)
    })
    await new Promise<void>(resolve => other.listen(0, '127.0.0.1', resolve))
    const { port } = other.address() as AddressInfo
    const answers: number[] = []
    page.on('response', answer => answer.url() === to && answers.push(answer.status()))

    await page.goto(`http://localhost:${port}/`)
    await expect.poll(() => answers).toEqual([403])
    expect(await page.evaluate(`fetch('${to}').then(() => 'read', () => 'refused')`)).toBe('refused')
    await page.getByRole('link', { name: 'from the chat' }).click()

    await heading('Types')
    expect(answers.at(-1)).toBe(200)
    other.close()
  })
})

const IS_LAST_PAGE_LOADED =
  "performance.getEntriesByType('resource').some(({ name }) => name.includes('events-page'))"

/** Pages are not loaded ahead, as for a fast reader. */
async function withoutIdleTime(page: Page): Promise<void> {
  await page.addInitScript('globalThis.requestIdleCallback = () => 0')
}
