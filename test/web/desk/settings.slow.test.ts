import { beforeAll, describe, expect, it } from 'vitest'
import { chromiumPath } from '../../support/web/browser.ts'
import { aDashboardTab } from '../../support/web/dashboard.ts'

/** How an operator reads and changes schedules, limits and options, and removes tasks. */

const HOUR = 3_600_000

describe.skipIf(chromiumPath === undefined)('an operator', () => {
  const { system, page, press, told } = aDashboardTab()
  const dialog = () => page.getByRole('dialog')
  const preview = () => page.getByRole('region', { name: 'What this does' })
  const read = async (path: string) => (await system.call('GET', path)).body
  const put = (path: string, body: object) => system.call('PUT', path, body)

  beforeAll(() => put('/v1/types/letter', { kind: 'http' }))

  it('finds out why a schedule did not run, resumes it and runs it now', async () => {
    await put('/v1/schedules/nightly', { everyMs: 1_000, task: { type: 'letter' } })
    await expect.poll(async () => (await read('/v1/schedules/nightly/ticks')).items.length).toBeGreaterThan(0)
    await system.call('POST', '/v1/schedules/nightly/pause', {})
    await page.goto('/schedules')

    await page.getByRole('link', { name: 'nightly' }).first().click()
    await page.getByText('has paused it').waitFor()
    await page.getByRole('region', { name: 'Past ticks' }).getByText('ready').first().waitFor()
    await press('Resume')
    await told('nightly ticks again')
    await press('Run now')
    await told('was published')

    await page.getByText('Ticks next').waitFor()
    expect(await read('/v1/schedules/nightly')).toMatchObject({ paused: false })
  })

  it('widens a limit that is too narrow from a task that waits for it, and sees tasks start', async () => {
    const limits = { concurrency: { max: 1, key: 'customer' } }
    await put('/v1/types/narrow', { kind: 'http', limits, defaults: { leaseMs: HOUR } })
    for (const [customer, count] of Object.entries({ ada: 3, bob: 2, eve: 2 }))
      for (let nth = 0; nth < count; nth++)
        await system.publish({ type: 'narrow', key: `${customer}${nth}`, input: { customer } })
    const claim = { type: 'narrow', workerId: 'w1', limit: 10, waitMs: 10_000 }
    await expect
      .poll(async () => {
        await system.call('POST', '/v1/claims', claim)
        return (await read('/v1/types/narrow/limits?waiting=100')).concurrency.waiting
      })
      .toEqual([
        { value: 'ada', tasks: 2 },
        { value: 'bob', tasks: 1 },
        { value: 'eve', tasks: 1 },
      ])
    const { items } = await read('/v1/tasks?type=narrow&status=ready')
    await page.goto(`/tasks/${encodeURIComponent(items[0].id)}`)

    await page.getByRole('link', { name: 'narrow' }).first().click()
    await page.getByText('3 customers wait now, with 4 tasks.').waitFor()
    await press('Change limits')
    await dialog().getByLabel('Runs at a time').fill('0')
    await dialog().getByText('must be a whole number from 1 to 1000, not 0').waitFor()
    await dialog().getByLabel('Runs at a time').fill('50')
    await preview().getByText('At most 50 runs at a time for each customer.').waitFor()
    await preview().getByText('3 customers wait now').waitFor()
    await press('Save')
    await told('narrow was changed')

    const { body } = await system.call('POST', '/v1/claims', claim)
    expect(body.claims.length).toBeGreaterThan(0)
  })

  it('changes the options of a type by a form that says what they do', async () => {
    await put('/v1/types/options', { kind: 'http', shards: 2 })
    await page.goto('/types/options')
    await page.getByText('after 1 s, 2 s and 4 s; fails for good after 7 s at the earliest').waitFor()

    await press('Change options')
    await press('Add Retry')
    await dialog().getByLabel('Max retries').fill('2')
    await dialog().getByLabel('Delay, in seconds', { exact: true }).fill('1.5')
    await preview().getByText('Tries 3 times, after 1 s 500 ms and 3 s').waitFor()
    await dialog().getByLabel('Max delay, in seconds').fill('1')
    await dialog().getByText('must be at least retry.delayMs, which is 1500').waitFor()
    expect(await dialog().getByRole('button', { name: 'Save' }).isDisabled()).toBe(true)
    await dialog().getByLabel('Max delay, in seconds').fill('60')
    await press('Save')
    await told('options was changed')

    const retry = { maxRetries: 2, delayMs: 1_500, maxDelayMs: 60_000 }
    expect(await read('/v1/types/options')).toMatchObject({ shards: 2, defaults: { retry } })
  })

  it('learns what another person has changed meanwhile', async () => {
    await put('/v1/types/shared', { kind: 'http', limits: { rate: { limit: 5, perMs: 1_000 } } })
    await page.goto('/types/shared')
    await press('Change limits')
    await dialog().getByLabel('Starts').fill('50')
    await put('/v1/types/shared', { kind: 'http', limits: { rate: { limit: 9, perMs: 1_000 } } })

    await press('Save')
    await dialog().getByText('limits.rate.limit: 5 → 9').waitFor()
    await press('Start over from the present state')

    await expect.poll(() => dialog().getByLabel('Starts').inputValue()).toBe('9')
  })

  it('creates a schedule in a form that shows the next ticks while it is written, and removes it', async () => {
    await put('/v1/types/report', {
      kind: 'http',
      inputSchema: { type: 'object', required: ['days'], properties: { days: { type: 'integer' } } },
    })
    await page.goto('/schedules')
    await press('New schedule')

    await dialog().getByLabel('Name').fill('weekly')
    await dialog().getByLabel('Cron expression').fill('0 3 * *')
    await dialog().getByText('has 4 fields; it must have 5 fields').waitFor()
    await dialog().getByLabel('Cron expression').fill('0 3 * * 1')
    await dialog().getByLabel('Time zone').fill('Europe/Berlin')
    await dialog().getByLabel('Type').selectOption('report')
    await press('Add Input')
    await dialog().getByLabel('days').fill('7')
    expect(await preview().getByRole('listitem').count()).toBe(5)
    await preview().getByText('Ticks by 0 3 * * 1 (Europe/Berlin).').waitFor()
    await press('Create')
    await told('The schedule was created')
    expect(await read('/v1/schedules/weekly')).toMatchObject({
      ...{ cron: '0 3 * * 1', timezone: 'Europe/Berlin' },
      task: { type: 'report', input: { days: 7 } },
    })

    await page.getByRole('link', { name: 'weekly' }).first().click()
    await press('Edit')
    await dialog()
      .getByLabel(/^Ticks( \*)?$/)
      .selectOption('at an interval')
    await dialog().getByLabel('A tick every, in seconds').fill('90')
    await preview().getByText('Ticks every 1 min 30 s.').waitFor()
    await press('Save')
    await told('weekly was changed')
    expect(await read('/v1/schedules/weekly')).toMatchObject({ everyMs: 90_000, task: { type: 'report' } })

    await press('Remove')
    await dialog().getByText('publishes no further task of report').waitFor()
    await press('Remove the schedule')
    await told('weekly was removed')
    expect((await system.call('GET', '/v1/schedules/weekly')).status).toBe(404)
  })

  it('purges tasks of a type after its name was typed, and sees how far the purge is', async () => {
    await put('/v1/types/heap', { kind: 'http' })
    for (const key of ['a', 'b', 'c']) {
      const id = await system.publish({ type: 'heap', key, delayMs: HOUR })
      if (key !== 'c') await system.call('POST', `/v1/tasks/${id}/cancel`, {})
    }
    await page.goto('/types/heap')
    await press('Purge')
    const purge = dialog().getByRole('button', { name: 'Purge' })

    await dialog().getByLabel('cancelled').check()
    await dialog().getByText('At most 2 tasks go.').waitFor()
    expect(await purge.isDisabled()).toBe(true)
    await dialog().getByLabel('Type the name of the type').fill('heap')
    await purge.click()
    await told('The purge has begun')
    await page.getByText('A purge that began').waitFor()
    await page.getByText('at most 0 are left').waitFor()

    expect((await system.call('GET', '/v1/tasks/heap:c')).status).toBe(200)
    expect((await read('/v1/types/heap')).operations.at(-1).what).toBe('purge')
  })

  it('finds a canvas by its status, with its progress', async () => {
    const tasks = ['a', 'b'].map(key => ({ type: 'letter', input: { key }, delayMs: HOUR }))
    for (const key of ['album', 'other']) await system.call('POST', '/v1/canvases', { key, group: tasks })
    await system.call('POST', '/v1/canvases/canvas:other/cancel', {})
    await page.goto('/')
    await page.getByRole('heading', { name: 'Overview' }).waitFor()

    await page.keyboard.press('g')
    await page.keyboard.press('c')
    await page.getByRole('link', { name: 'canvas:other' }).waitFor()
    await press('running')
    await page.getByRole('link', { name: 'canvas:other' }).waitFor({ state: 'detached' })
    await page
      .getByRole('row', { name: /canvas:album group running 0 of 2/ })
      .getByRole('link')
      .click()

    await page.getByRole('heading', { name: 'canvas:album' }).waitFor()
  })
})
