import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { crc32, deflateSync, inflateSync } from 'node:zlib'
import { ReceiveMessageCommand, SQSClient } from '@aws-sdk/client-sqs'
import { type Browser, chromium, type Page } from 'playwright-core'
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
/** Tasks whose messages are given up. */
const LOST_KEYS = ['letter-17', 'letter-18', 'letter-19']
/** The parts of a PNG. `CHUNK_FRAME_BYTES` are length, type and checksum of a chunk. */
const [SIGNATURE_BYTES, CHUNK_FRAME_BYTES, RGB_BYTES, RGB_COLOUR_TYPE] = [8, 12, 3, 2]
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
 * colour are a quarter smaller without filters. A picture that is not one of plain RGB is returned as it is.
 */
export function smallerPng(png: Buffer): Buffer {
  const chunks = chunksOf(png)
  const header = chunks.find(({ type }) => type === 'IHDR')
  if (!header || header.data[9] !== RGB_COLOUR_TYPE) return png
  const data = Buffer.concat(chunks.filter(({ type }) => type === 'IDAT').map(chunk => chunk.data))
  const rows = inflateSync(data)
  unfilter(rows, header.data.readUInt32BE(0) * RGB_BYTES)
  const smaller = chunkOf('IDAT', deflateSync(rows, { level: 9 }))
  const made = Buffer.concat([
    png.subarray(0, SIGNATURE_BYTES),
    chunkOf('IHDR', header.data),
    smaller,
    chunkOf('IEND', Buffer.alloc(0)),
  ])
  return made.length < png.length ? made : png
}

type Chunk = { readonly type: string; readonly data: Buffer }

function chunksOf(png: Buffer): Chunk[] {
  const chunks: Chunk[] = []
  for (let at = SIGNATURE_BYTES; at < png.length; ) {
    const length = png.readUInt32BE(at)
    chunks.push({ type: png.toString('latin1', at + 4, at + 8), data: png.subarray(at + 8, at + 8 + length) })
    at += CHUNK_FRAME_BYTES + length
  }
  return chunks
}

function chunkOf(type: string, data: Buffer): Buffer {
  const framed = Buffer.alloc(CHUNK_FRAME_BYTES + data.length)
  framed.writeUInt32BE(data.length, 0)
  framed.write(type, 4, 'latin1')
  data.copy(framed, 8)
  framed.writeUInt32BE(crc32(framed.subarray(4, 8 + data.length)), 8 + data.length)
  return framed
}

/** Replaces each row by its pixels, in place. The first byte of a row names its filter: https://www.w3.org/TR/png-3/#9Filters */
function unfilter(rows: Buffer, bytes: number): void {
  for (let row = 0; row < rows.length; row += bytes + 1) {
    const filter = rows[row] ?? 0
    const byteAt = (at: number, isInside: boolean) => (isInside ? (rows[at] ?? 0) : 0)
    for (let at = row + 1; at <= row + bytes; at++) {
      const hasLeft = at - RGB_BYTES > row
      const above = at - bytes - 1
      const left = byteAt(at - RGB_BYTES, hasLeft)
      const corner = byteAt(above - RGB_BYTES, hasLeft && row > 0)
      rows[at] = byteAt(at, true) + predicted(filter, left, byteAt(above, row > 0), corner)
    }
    rows[row] = 0
  }
}

function predicted(filter: number, left: number, up: number, corner: number): number {
  const paeth = () => {
    const [a, b, c] = [left, up, corner].map(one => Math.abs(left + up - corner - one)) as [
      number,
      number,
      number,
    ]
    if (a <= b && a <= c) return left
    return b <= c ? up : corner
  }
  return [() => 0, () => left, () => up, () => (left + up) >> 1, paeth][filter]?.() ?? 0
}
