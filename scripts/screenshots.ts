import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { ReceiveMessageCommand, SQSClient } from '@aws-sdk/client-sqs'
import { type Browser, chromium, type Page } from 'playwright-core'
import { PNG } from 'pngjs'
import { startDev } from '../cli/dev/dev.ts'
import { createTerminal } from '../cli/dev/terminal.ts'
import type { LocalCloud } from '../local/cloud.ts'
import { freshDashboard } from './build/dashboard.ts'
import { runDemonstration } from './demonstration/demonstration.ts'

/**
 * `node scripts/screenshots.ts`: takes a picture of each page of the dashboard, in both themes and both sizes. They show a system of its own
 * that has run the demonstration. The pictures go to `docs/images/dashboard`.
 */
const { values } = parseArgs({
  options: {
    out: { type: 'string', default: 'docs/images/dashboard' },
    chromium: { type: 'string', default: '/usr/bin/chromium' },
  },
})

/** What is asked for last, such as a sentence, has been drawn after this time. */
const DRAWN_MS = 800
const TEXT = 'The baton passes from hand to hand.'
let nextNews = 1
const LOST_KEYS = ['letter-17', 'letter-18', 'letter-19']
/** Three bytes a pixel. Screenshots have no transparency. */
const RGB_COLOUR_TYPE = 2
const SIZES = { desktop: { width: 1360, height: 850 }, phone: { width: 390, height: 844 } } as const

mkdirSync(values.out, { recursive: true })
const browser = await chromium.launch({
  executablePath: values.chromium,
  args: process.getuid?.() === 0 ? ['--no-sandbox'] : [],
})
const session = await startDev(
  { port: 0, dashboard: await freshDashboard(), verbose: false, allowHost: [] },
  process.cwd(),
  createTerminal({ verbose: false }, process.cwd(), 'failures'),
)
const [{ cloud } = none()] = session.systems()
await runDemonstration(cloud)
await putSchedules()
await giveUpMessages(cloud)
const pages = await findPages()
for (const theme of ['light', 'dark'] as const)
  for (const size of ['desktop', 'phone'] as const) await takeAll(browser, theme, size)
await browser.close()
await session.stop()

function none(): never {
  throw new Error('the app has no task system')
}

async function takeAll(of: Browser, colorScheme: 'light' | 'dark', size: keyof typeof SIZES): Promise<void> {
  const context = await of.newContext({ baseURL: cloud.apiUrl, viewport: SIZES[size], colorScheme })
  const page = await context.newPage()
  for (const [name, path] of Object.entries(pages)) {
    await page.goto(path)
    await page.locator('h1').waitFor()
    if (name === 'events') await causeEvents(page)
    await page.locator('main').locator('.card, .rows, .note').first().waitFor()
    await nothingLoads(page)
    await page.waitForTimeout(DRAWN_MS)
    await nothingLoads(page)
    const file = join(values.out, `${name}-${colorScheme}-${size}.png`)
    writeFileSync(file, smallerPng(await page.screenshot()))
  }
  await context.close()
}

/** The page of events shows those that happen while it is open. */
async function causeEvents(page: Page): Promise<void> {
  await page.getByText('Live', { exact: true }).first().waitFor({ state: 'attached' })
  for (let nth = 0; nth < 5; nth++) await publish('word-count', `news-${nextNews++}`)
  await page.getByText('task.succeeded').nth(4).waitFor()
}

/** Waits until the page shows no placeholder for what is still loading. Below a list a placeholder is for its further pages. */
async function nothingLoads(page: Page): Promise<void> {
  await page.locator('main .loading:not(.rows ~ *)').first().waitFor({ state: 'detached' })
}

/** Schedules for the pictures. The demonstration has none that stay. */
async function putSchedules(): Promise<void> {
  const task = { type: 'word-count', input: { text: TEXT } }
  const schedules = {
    'morning-edition': { cron: '0 6 * * *', timezone: 'Europe/Berlin', task },
    'weekly-digest': { cron: '30 9 * * 1', task },
    'every-four-hours': { everyMs: 4 * 3_600_000, task },
  }
  for (const [name, body] of Object.entries(schedules)) await send('PUT', `schedules/${name}`, body)
}

/** Dead letters for the pictures: SQS gives up messages that are received again and again, and never deleted. */
async function giveUpMessages({ mapping, resources, inspectQueue, ...local }: LocalCloud): Promise<void> {
  const receiver = mapping('WordCount')
  const queue = Object.values(resources).find(({ arn }) => arn === receiver.sourceArn)
  const waiting = () => inspectQueue(receiver.sourceArn).messages.length
  const sqs = new SQSClient(local.clientOptions)
  receiver.pause()
  for (const key of LOST_KEYS) await publish('word-count', key)
  while (waiting() < LOST_KEYS.length) await sleep(50)
  const receive = { QueueUrl: queue?.physicalId, VisibilityTimeout: 0, MaxNumberOfMessages: 10 }
  while (waiting() > 0) await sqs.send(new ReceiveMessageCommand(receive))
  await local.functions.find('Sweeper').invoke({})
  receiver.resume()
  sqs.destroy()
}

async function publish(type: string, key: string): Promise<void> {
  await send('POST', 'tasks', { type, key, input: { text: TEXT } })
}

async function send(method: string, path: string, body: object): Promise<void> {
  const headers = { 'content-type': 'application/json' }
  await fetch(`${cloud.apiUrl}/v1/${path}`, { method, headers, body: JSON.stringify(body) })
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
    ...{ schedules: '/schedules', workers: '/workers', failures: '/failures' },
    ...{ events: '/events', 'dead-letters': '/dead-letters' },
    task: path('tasks', failed?.id),
    flow: path('tasks', flow?.id),
    canvas: path('canvases', member?.canvasId),
  }
}

async function firstTask(query: string): Promise<{ id: string; canvasId?: string } | undefined> {
  const answer = await fetch(`${cloud.apiUrl}/v1/tasks?limit=1&${query}`)
  const { items = [] } = (await answer.json()) as { items?: Array<{ id: string; canvasId?: string }> }
  return items[0]
}

/**
 * Makes a picture of a page smaller, without a loss. Chromium filters each row of its pictures, which suits photographs. Large areas of one
 * colour are a quarter smaller without filters.
 */
function smallerPng(png: Buffer): Buffer {
  const unfiltered = {
    colorType: RGB_COLOUR_TYPE,
    filterType: 0,
    deflateLevel: 9,
    deflateStrategy: 0,
  } as const
  const made = PNG.sync.write(PNG.sync.read(png), unfiltered)
  return made.length < png.length ? made : png
}
