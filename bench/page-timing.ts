import type { Browser } from 'playwright-core'
import { quantile } from './row.ts'

/** What a reader meets on opening a page with an empty cache. Times are in ms since the navigation began. */
export type PageTiming = {
  /** First contentful paint. */
  readonly firstPaintMs: number
  /** Largest contentful paint. */
  readonly largestPaintMs: number
  /** When the content stood on the page, in place of what is shown while it loads. */
  readonly contentMs: number
  /** When the content had all its answers. */
  readonly wholeMs: number
  /** Total blocking time: what each task of the page's thread took beyond 50 ms, after the first paint. */
  readonly blockedMs: number
  /** Cumulative layout shift. */
  readonly layoutShift: number
  /** Bytes, with headers, of the document and of all that the page requested before it was whole. The code of other pages is loaded later. */
  readonly transferredBytes: number
  /** Bytes of the code among them, compressed. */
  readonly codeBytes: number
  /** The time from the request of the document to its last byte. */
  readonly documentMs: number
}

/** What was drawn last, such as a chart, may still shift the page for so long. */
const SETTLING_MS = 1_500

/** What a page shows: `content` when it is drawn first, and `whole` when it has all its answers. Both are selectors. */
type Marks = { readonly content: string; readonly whole: string }

/** Opens a page several times, each time with an empty cache, and returns the median of each figure. */
export async function timePage(
  browser: Browser,
  url: string,
  marks: Marks,
  times: number,
): Promise<PageTiming> {
  const timings: PageTiming[] = []
  // The first visit is not counted: it starts processes and compiles code.
  for (let nth = -1; nth < times; nth++) {
    const timing = await timeOnce(browser, url, marks)
    if (nth >= 0) timings.push(timing)
  }
  return medianOf(timings)
}

async function timeOnce(browser: Browser, url: string, marks: Marks): Promise<PageTiming> {
  const context = await browser.newContext({ viewport: { width: 1360, height: 850 } })
  try {
    const page = await context.newPage()
    await page.addInitScript(observing(marks))
    await page.goto(url)
    await page.locator(marks.whole).first().waitFor()
    await page.waitForTimeout(SETTLING_MS)
    return await page.evaluate<PageTiming>(READING)
  } finally {
    await context.close()
  }
}

/** Runs in the page before its own code. The page has the types of a browser, which this project has not. */
const observing = ({ content, whole }: Marks) => `
  const seen = { largestPaintMs: 0, contentMs: 0, wholeMs: 0, layoutShift: 0, tasks: [] }
  window.seen = seen
  const on = (type, take) =>
    new PerformanceObserver(list => list.getEntries().forEach(take)).observe({ type, buffered: true })
  on('largest-contentful-paint', ({ startTime }) => { seen.largestPaintMs = startTime })
  on('layout-shift', ({ value }) => { seen.layoutShift += value })
  on('longtask', ({ startTime, duration }) => seen.tasks.push([startTime, duration]))
  const note = (selector, name) => {
    if (document.querySelector(selector)) seen[name] = performance.now()
    else requestAnimationFrame(() => note(selector, name))
  }
  note(${JSON.stringify(content)}, 'contentMs')
  note(${JSON.stringify(whole)}, 'wholeMs')`

const READING = `(() => {
  const firstPaintMs = performance.getEntriesByName('first-contentful-paint')[0].startTime
  const [document] = performance.getEntriesByType('navigation')
  const resources = performance.getEntriesByType('resource')
  const first = resources.filter(({ startTime }) => startTime <= window.seen.wholeMs)
  const bytesOf = all => all.reduce((sum, { transferSize }) => sum + transferSize, 0)
  const { tasks, ...seen } = window.seen
  return {
    ...seen,
    firstPaintMs,
    blockedMs: tasks
      .filter(([at]) => at >= firstPaintMs)
      .reduce((sum, [, ms]) => sum + Math.max(0, ms - 50), 0),
    transferredBytes: bytesOf([...first, document]),
    codeBytes: bytesOf(first.filter(({ name }) => name.endsWith('.js'))),
    documentMs: document.responseEnd,
  }
})()`

function medianOf(timings: readonly PageTiming[]): PageTiming {
  const median = (name: keyof PageTiming) =>
    quantile(
      timings.map(timing => timing[name]),
      0.5,
    )
  return {
    firstPaintMs: median('firstPaintMs'),
    largestPaintMs: median('largestPaintMs'),
    contentMs: median('contentMs'),
    wholeMs: median('wholeMs'),
    blockedMs: median('blockedMs'),
    layoutShift: median('layoutShift'),
    transferredBytes: median('transferredBytes'),
    codeBytes: median('codeBytes'),
    documentMs: median('documentMs'),
  }
}
