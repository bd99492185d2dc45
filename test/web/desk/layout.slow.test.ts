import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { pathOf } from '../../../shared/api/endpoints.ts'
import { findingsOf } from '../../support/web/axe.ts'
import { chromiumPath } from '../../support/web/browser.ts'
import { aDashboard } from '../../support/web/dashboard.ts'

/** No page is wider than its screen, whatever names are in it. A page that is added needs its address here. */

const LONG = 'x'.repeat(100)
const TYPE = `render.${LONG}`.slice(0, 100)
const FLOW = `saga.${LONG}`.slice(0, 100)
const HOSTILE = `<img src=x onerror="document.title=1">\u202E${LONG}`
const SCHEDULE = `nightly-${LONG}`.slice(0, 100)
const path = (text: string) => encodeURIComponent(text)

const ADDRESSES = [
  '/',
  `/tasks?type=${TYPE}`,
  `/tasks?type=${TYPE}&tag=${path(`team:${LONG}`)}&userId=${LONG}`,
  `/tasks/${path(`${TYPE}:${HOSTILE}`)}`,
  `/tasks/${path(`${FLOW}:${LONG}`)}`,
  `/tasks/${path(`${TYPE}:${LONG}-none`)}`,
  '/attention',
  '/canvases',
  `/canvases/${path(`canvas:${LONG}`)}`,
  '/types',
  `/types/${TYPE}`,
  '/schedules',
  `/schedules/${SCHEDULE}`,
  '/workers',
  '/failures',
  '/dead-letters',
  '/events',
  `/nowhere/${LONG}`,
]
/** A phone, 1,280 px at 200 %, and a desktop. */
const WIDTHS = [390, 640, 1440]

const LETTER = {
  ...{ id: LONG, queue: `type:${TYPE}`, kind: 'dispatch', taskId: `${TYPE}:${LONG}`, receives: 3, bytes: 9 },
  ...{ sentAt: '2026-01-01T00:00:00Z', arrivedAt: '2026-01-01T00:00:00Z', expiresAt: '2026-01-15T00:00:00Z' },
  ...{ error: LONG.repeat(3), replayable: true, sentence: `${LONG} was given up.`, next: `Repair ${LONG}.` },
}

describe.skipIf(chromiumPath === undefined)('the pages of the dashboard', () => {
  const { system, aReader } = aDashboard()

  it('all have their addresses in this test', () => {
    const paths = readFileSync('web/main.tsx', 'utf8').matchAll(/(?:page\(|path: )'(\/[^']*)'/g)
    const fits = (pattern: string) => new RegExp(`^${pattern.replaceAll(/\$\w+/g, '[^/?]+')}(\\?|$)`)
    const missing = [...paths].filter(([, one = '']) => !ADDRESSES.some(address => fits(one).test(address)))

    expect(missing.map(([, one]) => one)).toEqual([])
  })

  it.each([390, 640])('fit %d px without any data', async width => {
    const { page } = await aReader()
    const now = new Date().toISOString()
    await page.route('**/v1/{types,counts,activity,tasks,schedules,workers,failures,dead-letters}*', route =>
      route.fulfill({ json: { items: [], from: now, to: now } }),
    )

    expect(await tooWide(page, width)).toEqual([])
  })

  describe('with hostile names of 100 characters', () => {
    beforeAll(() => fill(system))

    it.each(WIDTHS)('fit %d px, and have no serious finding', async width => {
      const { page, complaints } = await aReader({ colorScheme: width === 640 ? 'dark' : 'light' })
      await page.route('**/v1/dead-letters*', route => route.fulfill({ json: { items: [LETTER] } }))

      expect(await tooWide(page, width, findingsOf)).toEqual([])
      expect(complaints).toEqual([])
      await page.goto(`/tasks?type=${TYPE}`)
      await page.getByRole('row').getByTitle(LONG).first().waitFor()
      expect(await page.evaluate(IS_DRAWN)).toBe(true)
    })
  })
})

/** Whether the list shows the beginning of an error that is too long for its row. */
const IS_DRAWN = `(() => {
  const text = document.querySelector('[role=row] [title*="Failed"]')
  const [{ left, top, height }] = text.getClientRects()
  return document.elementFromPoint(left + 4, top + height / 2) === text
})()`

/** The innermost element beyond the right edge, if the page is wider than its screen. */
const WIDEST = `(() => {
  const { scrollWidth, clientWidth } = document.documentElement
  if (scrollWidth <= clientWidth) return ''
  const beyond = [...document.querySelectorAll('main *')].filter(one => one.getBoundingClientRect().right > clientWidth)
  return beyond.at(-1)?.outerHTML.slice(0, 120) ?? 'the frame'
})()`

type Look = (page: Page, path: string) => Promise<string[]>

async function tooWide(page: Page, width: number, look?: Look): Promise<string[]> {
  await page.setViewportSize({ width, height: 800 })
  const found: string[] = []
  for (const address of ADDRESSES) {
    await page.goto(address)
    await page.locator('main :is(h1, .note)').first().waitFor()
    await page.locator('.loading').first().waitFor({ state: 'detached' })
    const wide = await page.evaluate<string>(WIDEST)
    if (wide !== '') found.push(`${address.slice(0, 30)} is wider than ${width} px: ${wide}`)
    found.push(...((await look?.(page, address)) ?? []))
  }
  return found
}

type System = ReturnType<typeof aDashboard>['system']

/** Tasks, types, schedules, workers and failures, all with long names. */
async function fill(system: System): Promise<void> {
  const call: System['call'] = async (...request) => {
    const answer = await system.call(...request)
    expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300)
    return answer
  }
  const limits = { rate: { limit: 99, perMs: 2_000_000, key: LONG }, concurrency: { max: 9, key: LONG } }
  await call('PUT', `/v1/types/${TYPE}`, { kind: 'http', limits })
  await call('PUT', `/v1/types/${FLOW}`, {
    kind: 'flow',
    steps: [{ name: `step-${LONG}`.slice(0, 100), do: { type: TYPE } }],
  })
  await call('PUT', `/v1/schedules/${SCHEDULE}`, { cron: '0 3 * * *', task: { type: TYPE } })
  const group = [{ type: TYPE }, { type: TYPE }]
  await call('POST', '/v1/canvases', { key: LONG, chain: [{ group }, { type: TYPE }] })
  const more = { tags: { team: LONG, [LONG]: LONG }, userId: LONG, fairnessKey: LONG, liveLog: true }
  const id = await system.publish({
    type: TYPE,
    key: HOSTILE,
    input: { [LONG]: LONG },
    priority: 9,
    retry: { maxRetries: 0 },
    ...more,
  })
  await call('PATCH', pathOf('get', id), { priority: 3 })
  await system.publish({ type: FLOW, key: LONG, input: {} })
  const worker = { type: TYPE, workerId: `${LONG}${LONG}`, waitMs: 20_000, limit: 9 }
  const { body } = await call('POST', '/v1/claims', worker)
  const { run } = body.claims.find(({ task }: { task: { id: string } }) => task.id === id)
  const error = { name: `Failed${LONG}`, message: LONG.repeat(9), stack: LONG.repeat(4) }
  const report = { fence: run.fence, error, log: LONG.repeat(5) }
  await call('POST', pathOf('fail', id, run.id), report)
}
