import { existsSync } from 'node:fs'
import { type Browser, chromium, type Page } from 'playwright-core'

/** Where Chromium is on machines with Debian, Fedora, macOS and Windows. `CHROMIUM` names another place. */
const PLACES = [
  process.env.CHROMIUM ?? '',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  'C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe',
]

/** The path of the machine's Chromium; undefined when it has none. */
export const chromiumPath = PLACES.find(path => path !== '' && existsSync(path))

if (chromiumPath === undefined)
  console.warn('The tests of the dashboard are skipped: install Chromium, or name it by CHROMIUM=PATH.')

export type Reader = {
  readonly page: Page
  /** What the browser has complained about: errors of the page, and what the policy has refused. */
  readonly complaints: string[]
}

export async function openBrowser(): Promise<Browser> {
  if (chromiumPath === undefined) throw new Error('there is no Chromium on this machine')
  return chromium.launch({
    executablePath: chromiumPath,
    // A container runs as root, where the sandbox of Chromium refuses to start.
    args: process.getuid?.() === 0 ? ['--no-sandbox'] : [],
  })
}

/** Opens a tab. It waits as long for a condition as other tests do. */
export async function openReader(
  browser: Browser,
  url: string,
  options: { readonly colorScheme?: 'light' | 'dark'; readonly isPhone?: boolean } = {},
): Promise<Reader> {
  const { colorScheme = 'light', isPhone = false } = options
  const context = await browser.newContext({
    baseURL: url,
    colorScheme,
    viewport: isPhone ? { width: 390, height: 844 } : { width: 1360, height: 850 },
    permissions: ['clipboard-read', 'clipboard-write'],
  })
  context.setDefaultTimeout(60_000)
  const page = await context.newPage()
  const complaints: string[] = []
  page.on('pageerror', error => complaints.push(error.message))
  page.on('console', message => {
    // Answers such as 404 are shown to the reader; the browser also logs each of them.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      complaints.push(message.text())
  })
  return { page, complaints }
}

/** What a reader does on a page, and waits for. */
export function acting(page: Page) {
  return {
    /** Presses the first button of this name. */
    press: (name: string) => page.getByRole('button', { name, exact: true }).first().click(),
    /** Waits until a toast has this text. */
    told: (text: string) => page.locator('.toasts').getByText(text).first().waitFor(),
  }
}
