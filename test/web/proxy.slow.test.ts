import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { PAGE_TOKEN } from '../../cli/dashboard/session.ts'
import { LOCAL_CREDENTIALS } from '../../local/account.ts'
import { freshDashboard } from '../../scripts/build/dashboard.ts'
import { signedFetch } from '../../shared/client/signed/signed-fetch.ts'
import { aFolder } from '../support/a-folder.ts'
import { batonInTerminal, type InTerminal } from '../support/cli/a-process.ts'
import { anAws, type FakeAws } from '../support/cli/an-aws.ts'
import { aLocalSystem } from '../support/local-system/local-system.ts'
import { chromiumPath, openBrowser, openReader } from '../support/web/browser.ts'

/** `baton dashboard --stack` in a real browser, for a system that demands signatures. */

let aws: FakeAws
let browser: Browser
const terminals: InTerminal[] = []
const sign = signedFetch({ credentials: LOCAL_CREDENTIALS })

describe.skipIf(chromiumPath === undefined)('baton dashboard', () => {
  const system = aLocalSystem({ auth: 'iam' })

  beforeAll(async () => {
    await freshDashboard()
    browser = await openBrowser()
    aws = await anAws(() => LOCAL_CREDENTIALS)
    aws.stacks.Shop = { outputs: system.cloud.outputs as Record<string, string> }
    await sign(`${system.cloud.apiUrl}/v1/tasks`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ type: 'probe', key: 'seen', input: {}, delayMs: 3_600_000 }),
    })
  })

  afterAll(async () => {
    for (const terminal of terminals) terminal.interrupt()
    await Promise.all(terminals.map(({ exitCode }) => exitCode))
    await browser?.close()
    await aws?.stop()
  })

  const USER = {
    AWS_ACCESS_KEY_ID: LOCAL_CREDENTIALS.accessKeyId,
    AWS_SECRET_ACCESS_KEY: LOCAL_CREDENTIALS.secretAccessKey,
  }
  const start = (...options: string[]) => startAs(USER, ...options)

  async function startAs(
    user: Readonly<Record<string, string>>,
    ...options: string[]
  ): Promise<{ terminal: InTerminal; url: string }> {
    const terminal = batonInTerminal(['dashboard', '--stack', 'Shop', '--no-open', ...options], {
      AWS_ENDPOINT_URL: aws.url,
      AWS_REGION: 'us-east-1',
      ...user,
      NO_COLOR: '1',
    })
    terminals.push(terminal)
    await terminal.shows(/\?secret=[\w-]{43}/)
    return { terminal, url: /http:\S+secret=[\w-]{43}/.exec(terminal.output())?.[0] ?? '' }
  }

  it('shows and cancels tasks of the deployed system, at an address without the secret', async () => {
    const { url, terminal } = await start()
    const { page, complaints } = await openReader(browser, new URL(url).origin)

    await page.goto(url)
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
    const address = page.url()
    await page.goto('/tasks/probe%3Aseen')
    await page.getByRole('heading', { level: 1, name: 'seen' }).waitFor()
    await page.getByRole('button', { name: 'Cancel', exact: true }).click()
    await page.getByRole('button', { name: 'Cancel the task', exact: true }).click()
    await page.getByText('The task was cancelled').waitFor()
    const read = await sign(`${system.cloud.apiUrl}/v1/tasks/probe%3Aseen`)
    const task = (await read.json()) as { operations: Array<{ by: string; what: string }> }

    expect(new URL(address).search).toBe('')
    expect(complaints).toEqual([])
    expect(task.operations.at(-1)).toMatchObject({
      what: 'cancel',
      by: expect.stringMatching(/^arn:aws:iam::/),
    })
    terminal.interrupt()
    expect(await terminal.exitCode).toBe(130)
  })

  it('ends when a second browser opens its address', async () => {
    const { url, terminal } = await start()
    const [first, second] = [await openReader(browser, url), await openReader(browser, url)]
    await first.page.goto(url)
    await first.page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()

    const answer = await second.page.goto(url)

    expect(answer?.status()).toBe(401)
    expect(await second.page.textContent('body')).toContain('was opened a second time')
    expect(await terminal.exitCode).toBe(1)
    expect(terminal.output()).toContain('the dashboard has ended, because its address was opened twice')
    expect(terminal.output()).toContain('--no-open')
  })

  it('says on the page and in the terminal that the credentials have expired, and continues after a login', async () => {
    const folder = aFolder()
    const [config, keys] = [join(folder, 'config'), join(folder, 'keys.json')]
    const logIn = (SecretAccessKey: string = LOCAL_CREDENTIALS.secretAccessKey) => {
      // Credentials that end soon are loaded again for each call.
      const Expiration = new Date(Date.now() + 60_000).toISOString()
      const AccessKeyId = LOCAL_CREDENTIALS.accessKeyId
      writeFileSync(keys, JSON.stringify({ Version: 1, AccessKeyId, SecretAccessKey, Expiration }))
    }
    logIn()
    writeFileSync(config, `[profile live]\ncredential_process = cat ${keys}\n`)
    const { url, terminal } = await startAs({ AWS_CONFIG_FILE: config }, '--profile', 'live')
    const { page } = await openReader(browser, new URL(url).origin)
    await page.goto(url)
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()

    logIn('of yesterday')
    for (let nth = 0; nth < 100; nth++) aws.refusals.push([403, 'ExpiredToken', 'GetCallerIdentity'])
    // A call may still go with the former credentials while the new ones are loaded.
    const isRefused = async () => {
      await page.goto(`${new URL(url).origin}/types`)
      await page
        .getByText(/Your AWS credentials have expired|^probe$/)
        .first()
        .waitFor()
      return (await page.getByText('Your AWS credentials have expired').count()) > 0
    }
    await expect.poll(isRefused).toBe(true)
    await page.getByText('aws sso login --profile live').first().waitFor()
    await terminal.shows(/Your AWS credentials have expired: .*aws sso login --profile live/)
    logIn()

    await expect.poll(isRefused).toBe(false)
  })

  it('with --read-only changes nothing', async () => {
    const { url } = await start('--read-only')
    const { page } = await openReader(browser, new URL(url).origin)
    await page.goto(url)
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()

    const status = await page.evaluate(
      `fetch('/v1/tasks/probe%3Aseen/cancel', {
        method: 'POST', headers: { '${PAGE_TOKEN}': localStorage.getItem('${PAGE_TOKEN}') },
      }).then(answer => answer.status)`,
    )

    expect(status).toBe(403)
  })
})
