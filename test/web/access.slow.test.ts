import { beforeAll, describe, expect, it } from 'vitest'
import { findingsOf } from '../support/web/axe.ts'
import { chromiumPath } from '../support/web/browser.ts'
import { aDashboard } from '../support/web/dashboard.ts'

/** axe looks at each page, in both themes and both sizes. */

const PAGES = [
  '/',
  '/tasks?type=probe',
  '/tasks/probe%3Afails',
  '/canvases',
  '/canvases/canvas%3Aalbum',
  '/failures',
  '/dead-letters',
  '/types',
  '/types/probe',
  '/schedules',
  '/schedules/nightly',
  '/workers',
  '/events',
]

const DIALOGS = [
  ['/types/probe', 'Edit'],
  ['/types/probe', 'Purge'],
  ['/schedules', 'New schedule'],
] as const

describe.skipIf(chromiumPath === undefined)('the dashboard', () => {
  const { system, aReader } = aDashboard()

  beforeAll(async () => {
    await system.publish({ type: 'probe', key: 'fails', input: { failures: 1, how: 'fatal' } })
    await system.publish({ type: 'probe', key: 'later', input: {}, delayMs: 3_600_000, userId: 'ada' })
    await system.call('PUT', '/v1/schedules/nightly', { cron: '0 3 * * *', task: { type: 'probe' } })
    await system.call('POST', '/v1/canvases', { key: 'album', group: [{ type: 'clip' }, { type: 'clip' }] })
    await system.taskWhen('probe:fails', ({ status }) => status === 'failed')
  })

  it.each([
    ['light', false],
    ['dark', false],
    ['light', true],
    ['dark', true],
  ] as const)('has no serious finding in %s, on a phone: %s', async (colorScheme, isPhone) => {
    const { page } = await aReader({ colorScheme, isPhone })
    const findings: string[] = []
    for (const path of PAGES) {
      await page.goto(path)
      await page.getByRole('heading', { level: 1 }).waitFor()
      await page.locator('.loading').first().waitFor({ state: 'detached' })
      findings.push(...(await findingsOf(page, path)))
    }
    for (const [path, button] of DIALOGS) {
      await page.goto(path)
      await page.getByRole('button', { name: button, exact: true }).first().click()
      await page.getByRole('dialog').waitFor()
      findings.push(...(await findingsOf(page, `${path} ${button}`)))
    }

    expect(findings).toEqual([])
  })

  it.each(['/', '/tasks?type=probe', '/types'])('draws %s without moving what is drawn', async path => {
    const { page } = await aReader()
    await page.addInitScript(`
      globalThis.moved = 0
      new PerformanceObserver(list => {
        for (const { value } of list.getEntries()) globalThis.moved += value
      }).observe({ type: 'layout-shift', buffered: true })`)

    await page.goto(path)
    await page.getByRole('table').first().waitFor()
    await page.waitForTimeout(1_000)

    // A time that grows by a digit, such as `10 s ago`, moves by some pixels: 0.00001.
    expect(await page.evaluate('globalThis.moved')).toBeLessThan(0.001)
  })

  it('asks nothing in vain before the code of the overview is there', async () => {
    const { page } = await aReader()

    await page.goto('/')
    await page.getByRole('table').first().waitFor()

    expect(await page.evaluate('globalThis.earlyAnswers.size')).toBe(0)
  })

  it('shows what each type and each task would cost', async () => {
    const { page } = await aReader()
    const id = await system.publish({ type: 'probe', key: 'costs', input: {} })
    await system.taskWhen(id, ({ status }) => status === 'succeeded')

    await page.goto(`/tasks/${encodeURIComponent(id)}`)
    const card = page.getByRole('region', { name: 'Cost on AWS' })
    await card.getByText('A million like it').waitFor()
    await page.goto('/types')
    await page.getByRole('columnheader', { name: 'Per million' }).waitFor()

    const row = page.getByRole('row').filter({ has: page.getByRole('link', { name: 'probe', exact: true }) })
    await row.getByText('$').first().waitFor()
  })

  it('says that the cost of a task is not kept', async () => {
    const { page } = await aReader()
    const id = await system.publish({ type: 'probe', key: 'forgotten', input: {} })
    await page.route('**/local/cost?task=*', route => route.fulfill({ json: {} }))

    await page.goto(`/tasks/${encodeURIComponent(id)}`)

    await page.getByText('Not kept').waitFor()
  })

  it('shows no cost where nothing meters, and does not ask for it again', async () => {
    const { page } = await aReader()
    let asked = 0
    await page.route('**/local/cost*', route => {
      asked += 1
      return route.fulfill({ status: 404, json: { status: 404 } })
    })
    await page.clock.install()

    await page.goto('/')
    await page.getByRole('table').first().waitFor()
    const later = page.waitForRequest(request => request.url().includes('/v1/counts'))
    await page.clock.fastForward('05:00')
    await later

    expect(await page.getByText('Cost on AWS').count()).toBe(0)
    expect(await page.getByRole('columnheader', { name: 'Per million' }).count()).toBe(0)
    expect(asked).toBe(1)
  })
})
