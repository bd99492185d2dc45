import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, beforeEach } from 'vitest'
import { buildDashboard } from '../../../scripts/build/dashboard.ts'
import { aFolder } from '../a-folder.ts'
import { aLocalSystem } from '../local-system/local-system.ts'
import { standIn } from '../stand-in.ts'
import { acting, openBrowser, openReader, type Reader } from './browser.ts'

/** A folder with the dashboard, built from its sources: an option of the local system. */
export async function builtDashboard() {
  const dashboardDir = aFolder()
  await buildDashboard(dashboardDir)
  return { dashboardDir }
}

/** The system under test with the dashboard, and a browser, for the tests of a file. */
export function aDashboard() {
  const system = aLocalSystem(builtDashboard)
  let browser: Browser
  beforeAll(async () => {
    browser = await openBrowser()
  })
  afterAll(() => browser?.close())
  type Options = Parameters<typeof openReader>[2]
  return { system, aReader: (options?: Options) => openReader(browser, system.cloud.apiUrl, options) }
}

/** The dashboard with a tab of its own for each test. */
export function aDashboardTab() {
  const { system, aReader } = aDashboard()
  let reader: Reader | undefined
  beforeEach(async () => {
    await reader?.page.unrouteAll({ behavior: 'ignoreErrors' })
    await reader?.page.context().close()
    reader = await aReader()
  })
  const page = standIn('the tab', () => reader?.page)
  return { system, page, complaints: () => reader?.complaints, ...acting(page) }
}
