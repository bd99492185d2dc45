import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type Browser, chromium, type Page } from 'playwright-core'

/**
 * `node scripts/screenshots.ts --url http://127.0.0.1:7070`: takes a picture of each page of the dashboard of a running system, such
 * as `npm start` after its workload, in both themes and both sizes. The pictures go to `docs/images/dashboard`.
 */
const { values } = parseArgs({
  options: {
    url: { type: 'string', default: 'http://127.0.0.1:7070' },
    out: { type: 'string', default: 'docs/images/dashboard' },
    chromium: { type: 'string', default: '/usr/bin/chromium' },
  },
})

/** What is asked for last, such as a sentence, has been drawn after this time. */
const DRAWN_MS = 800
const SIZES = { desktop: { width: 1360, height: 850 }, phone: { width: 390, height: 844 } } as const

mkdirSync(values.out, { recursive: true })
const browser = await chromium.launch({
  executablePath: values.chromium,
  args: process.getuid?.() === 0 ? ['--no-sandbox'] : [],
})
await putSchedules()
const pages = await findPages()
for (const theme of ['light', 'dark'] as const)
  for (const size of ['desktop', 'phone'] as const) await takeAll(browser, theme, size)
await browser.close()

async function takeAll(of: Browser, colorScheme: 'light' | 'dark', size: keyof typeof SIZES): Promise<void> {
  const context = await of.newContext({ baseURL: values.url, viewport: SIZES[size], colorScheme })
  const page = await context.newPage()
  for (const [name, path] of Object.entries(pages)) {
    await page.goto(path)
    await page.locator('h1').waitFor()
    await page.locator('main').locator('.card, .rows, .note').first().waitFor()
    await nothingLoads(page)
    await page.waitForTimeout(DRAWN_MS)
    await nothingLoads(page)
    await page.screenshot({ path: join(values.out, `${name}-${colorScheme}-${size}.png`) })
  }
  await context.close()
}

/** Waits until no part of the page stands for what is still loading. Below a list such a part stands for its further pages. */
async function nothingLoads(page: Page): Promise<void> {
  await page.locator('main .loading:not(.rows ~ *)').first().waitFor({ state: 'detached' })
}

/** Schedules for the pictures. The demonstration has none that stay. */
async function putSchedules(): Promise<void> {
  const task = { type: 'word-count', input: { text: 'The baton passes from hand to hand.' } }
  const schedules = {
    'morning-edition': { cron: '0 6 * * *', timezone: 'Europe/Berlin', task },
    'weekly-digest': { cron: '30 9 * * 1', task },
    'every-four-hours': { everyMs: 4 * 3_600_000, task },
  }
  for (const [name, body] of Object.entries(schedules)) {
    await fetch(`${values.url}/v1/schedules/${name}`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  }
}

/** The pages, with tasks of the demonstration that show much. */
async function findPages(): Promise<Record<string, string>> {
  const [failed, flow, member] = await Promise.all([
    firstTask('type=word-count&status=failed'),
    firstTask('type=edition&status=failed'),
    firstTask('type=merge-counts'),
  ])
  const path = (place: string, id: string | undefined) => `/${place}/${encodeURIComponent(id ?? 'none')}`
  return {
    ...{ overview: '/', tasks: '/tasks', types: '/types', type: '/types/edition' },
    ...{
      schedules: '/schedules',
      workers: '/workers',
      failures: '/failures',
      events: '/events',
      'dead-letters': '/dead-letters',
    },
    task: path('tasks', failed?.id),
    flow: path('tasks', flow?.id),
    canvas: path('canvases', member?.canvasId),
  }
}

async function firstTask(query: string): Promise<{ id: string; canvasId?: string } | undefined> {
  const answer = await fetch(`${values.url}/v1/tasks?limit=1&${query}`)
  const { items = [] } = (await answer.json()) as { items?: Array<{ id: string; canvasId?: string }> }
  return items[0]
}
