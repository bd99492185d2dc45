import { startLocalSystem } from '../test/support/local-system/local-system.ts'
import { chromiumPath, openBrowser } from '../test/support/web/browser.ts'
import { builtDashboard } from '../test/support/web/dashboard.ts'
import { timePage } from './page-timing.ts'
import type { Row } from './row.ts'

const VIEWS = 7
const TYPES = 12
const TASKS_OF_TYPE = 10
/** The overview is drawn without its counts. What needs attention follows from them. */
const MARKS = { content: '.tiles', whole: '.attention ul, .all-well' }

/** Measures what a reader meets on opening the overview with an empty cache. Without Chromium there are no rows. */
export async function firstViewRows(): Promise<Row[]> {
  if (chromiumPath === undefined) return []
  const [system, browser] = await Promise.all([builtDashboard().then(startLocalSystem), openBrowser()])
  try {
    for (let nth = 0; nth < TYPES; nth++) {
      await system.call('PUT', `/v1/types/type-${nth}`, { kind: 'http' })
      const tasks = Array.from({ length: TASKS_OF_TYPE }, () => ({ type: `type-${nth}`, input: {} }))
      await system.call('POST', '/v1/tasks/batch', { tasks })
    }
    return rowsOf(await timePage(browser, system.cloud.apiUrl, MARKS, VIEWS))
  } finally {
    await browser.close()
    await system.stop()
  }
}

function rowsOf(timing: Awaited<ReturnType<typeof timePage>>): Row[] {
  const document = { name: 'its document alone', value: timing.documentMs }
  const bound = { of: 'value', max: 1_000 } as const
  return [
    { name: 'dashboard: first contentful paint', value: timing.firstPaintMs, control: document, bound },
    { name: 'dashboard: largest contentful paint', value: timing.largestPaintMs, control: document, bound },
    { name: `dashboard: overview of ${TYPES} types`, value: timing.contentMs, control: document, bound },
    { name: 'dashboard: overview with its counts', value: timing.wholeMs, control: document },
    { name: 'dashboard: total blocking time', value: timing.blockedMs, control: document },
    {
      name: 'dashboard: layout shift of the first view, times 1,000',
      value: timing.layoutShift * 1_000,
      unit: 'points',
      control: { name: 'what counts as good', value: 100 },
      bound: { of: 'value', max: 0 },
    },
    {
      name: 'dashboard: transferred for the first view',
      value: timing.transferredBytes / 1_000,
      unit: 'KB',
      control: { name: 'its code alone', value: timing.codeBytes / 1_000 },
      bound: { of: 'value', max: 250 },
    },
  ]
}
