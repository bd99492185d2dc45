import { beforeAll, describe, expect, it } from 'vitest'
import { chromiumPath } from '../support/web/browser.ts'
import { aDashboardTab } from '../support/web/dashboard.ts'

/** What the pages of types and schedules show of the present load, and how a reader steers it. */

const PACE_MS = 2_000

/** When the page has called each path of the API, in milliseconds of its own clock. */
const CALLS = `(() => {
  const calls = performance.getEntriesByType('resource').map(({ name, startTime }) => [new URL(name).pathname, startTime])
  const paths = Map.groupBy(calls, ([path]) => path)
  return [...paths].filter(([path]) => path.startsWith('/v1/') && path !== '/v1/events')
    .map(([, all]) => all.map(([, startTime]) => startTime))
})()`

/** A task that fits the schema of its type. */
const LETTER = '{"type": "letter", "input": {"to": "Ada", "copies": 1}}'

describe.skipIf(chromiumPath === undefined)('a reader', () => {
  const { system, page, press, told } = aDashboardTab()

  beforeAll(async () => {
    await system.call('PUT', '/v1/types/by-hand', { kind: 'http', limits: { concurrency: { max: 2 } } })
    await system.call('PUT', '/v1/types/letter', {
      kind: 'http',
      inputSchema: {
        type: 'object',
        required: ['to', 'copies'],
        properties: {
          to: { type: 'string', minLength: 1, description: 'The receiver' },
          copies: { type: 'integer', minimum: 1 },
          colour: { enum: ['black', 'blue'] },
          isUrgent: { type: 'boolean' },
          pages: { type: 'array', items: { type: 'string' } },
          extras: { type: 'array', items: {} },
        },
      },
    })
  })

  it('sees what a type did in the last hour, without a reload', async () => {
    await page.goto('/types/by-hand')
    await page.getByRole('region', { name: 'Ended per minute' }).waitFor()

    const id = await system.publish({ type: 'by-hand', key: 'seen' })
    const { body } = await system.call('POST', '/v1/claims', {
      type: 'by-hand',
      workerId: 'w1',
      waitMs: 20_000,
    })
    const [{ run }] = body.claims
    await page.getByRole('link', { name: id }).waitFor()
    await page.getByText('1 of 2').waitFor()
    await system.call('POST', `/v1/tasks/${id}/runs/${run.id}/succeed`, { fence: run.fence })

    await page.getByRole('img', { name: /succeeded at most 1/ }).waitFor()
    await page.getByText('0 of 2').waitFor()
  })

  it('publishes a task by a form that is made from the schema of its type', async () => {
    await page.goto('/types/letter')
    await press('Publish a task')

    const dialog = page.getByRole('dialog')
    await dialog.getByRole('textbox', { name: 'to', exact: true }).fill('Ada')
    await dialog.getByLabel('copies').fill('3')
    await dialog.getByLabel('colour').selectOption('blue')
    await dialog.getByLabel('isUrgent').check()
    await dialog.getByRole('group', { name: 'pages' }).getByRole('button', { name: 'Add' }).click()
    await dialog.getByRole('textbox', { name: 'pages 1' }).fill('first')
    await dialog.getByLabel('Key').fill('form-1')
    await press('Publish')
    await told('The task was published')

    const { body } = await system.call('GET', '/v1/tasks/letter:form-1')
    expect(body.input).toEqual({ to: 'Ada', copies: 3, colour: 'blue', isUrgent: true, pages: ['first'] })
  })

  it('switches between form and JSON, and loses nothing', async () => {
    await page.goto('/types/letter')
    await press('Publish a task')
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('textbox', { name: 'to', exact: true }).fill('Ada')

    await press('JSON')
    const text = dialog.getByRole('textbox', { name: 'Input' })
    expect(JSON.parse(await text.inputValue())).toMatchObject({ to: 'Ada' })
    await text.fill('{"to": "Grace", "copies": 2}')
    await press('Form')

    expect(await dialog.getByRole('textbox', { name: 'to', exact: true }).inputValue()).toBe('Grace')
    expect(await dialog.getByLabel('copies').inputValue()).toBe('2')
  })

  it('cannot publish while a part of the form holds text that is not JSON', async () => {
    await page.goto('/types/letter')
    await press('Publish a task')
    const dialog = page.getByRole('dialog')
    const publish = dialog.getByRole('button', { name: 'Publish', exact: true })
    const add = dialog.getByRole('group', { name: 'extras' }).getByRole('button', { name: 'Add' })
    await dialog.getByRole('textbox', { name: 'to', exact: true }).fill('Ada')
    await dialog.getByLabel('copies').fill('1')
    await dialog.getByLabel('Key').fill('form-2')
    await add.click()
    await add.click()
    await dialog.getByRole('textbox', { name: 'extras 1' }).fill('{"nth": 1}')
    await dialog.getByRole('textbox', { name: 'extras 2' }).fill('{"nth": 2')

    await dialog.getByText('This is not JSON yet').waitFor()
    expect(await publish.isDisabled()).toBe(true)

    await dialog.getByRole('button', { name: 'Remove extras 1' }).click()
    const left = dialog.getByRole('textbox', { name: 'extras 1' })
    expect(await left.inputValue()).toBe('{"nth": 2')
    await left.fill('{"nth": 2}')
    await publish.click()
    await told('The task was published')

    const { body } = await system.call('GET', '/v1/tasks/letter:form-2')
    expect(body.input).toEqual({ to: 'Ada', copies: 1, extras: [{ nth: 2 }] })
  })

  it('retries the failed tasks of a group that are as they were seen', async () => {
    const fail = async (key: string, type = 'by-hand') => {
      const id = await system.publish({ type, key, retry: { maxRetries: 0 } })
      const { body } = await system.call('POST', '/v1/claims', { type, workerId: 'w1', waitMs: 20_000 })
      const [{ run }] = body.claims
      await system.call('POST', `/v1/tasks/${id}/runs/${run.id}/fail`, {
        fence: run.fence,
        error: { name: 'Error', message: 'the letter box is full' },
      })
      return id
    }
    const id = await fail('full')
    await page.goto('/failures')
    await page.getByText('the letter box is full').waitFor()

    await press('Retry all')
    await page.getByRole('dialog').getByText('1 task at present.').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Retry' }).click()
    await page.getByText('Retry: 1 of 1 done').waitFor()
    expect((await system.call('GET', `/v1/tasks/${id}`)).body.status).not.toBe('failed')

    await press('Retry all')
    await page.getByText('there is nothing to retry').waitFor()
    expect(await page.getByRole('dialog').getByRole('button', { name: 'Retry' }).isDisabled()).toBe(true)
  })

  it('sees that what is shown is old while its questions are refused', async () => {
    await page.goto('/types/by-hand')
    await page.getByRole('region', { name: 'Lateness' }).waitFor()
    await page.getByText('Live', { exact: true }).waitFor()

    await page.route('**/v1/types/by-hand*', route =>
      route.fulfill({
        status: 401,
        json: { title: 'Unauthorized', status: 401, detail: 'the token is over' },
      }),
    )
    await page.getByRole('alert').getByText('the token is over').waitFor()
    await page.getByText('Outdated').waitFor()
    await page.unroute('**/v1/types/by-hand*')

    await page.getByText('Live', { exact: true }).waitFor()
    expect(await page.getByText('the token is over').count()).toBe(0)
  })

  it('asks for the usage of each limit by the value of its own key', async () => {
    await system.call('PUT', '/v1/types/keyed', {
      kind: 'http',
      limits: {
        rate: { limit: 5, perMs: 60_000, key: 'shop' },
        concurrency: { max: 2, key: 'user' },
      },
    })
    const queries: string[] = []
    page.on('request', request => {
      const { pathname, search } = new URL(request.url())
      if (pathname.endsWith('/limits')) queries.push(search)
    })
    await page.goto('/types/keyed')

    await page.getByLabel('Usage for shop').pressSequentially('north')
    await page.getByText('free now').waitFor()
    expect(await page.getByText('0 of 2').count()).toBe(0)
    await page.getByLabel('Usage for user').pressSequentially('ada')
    await page.getByText('0 of 2').waitFor()

    expect([...new Set(queries)].map(query => query.replace('waiting=100', ''))).toEqual([
      '?',
      '?&rateValue=north',
      '?&rateValue=north&concurrencyValue=ada',
    ])
  })

  it('creates a schedule, sees its next ticks, and edits it', async () => {
    await page.goto('/schedules')
    await press('New schedule')
    await press('JSON')
    await page
      .getByRole('textbox', { name: 'Schedule' })
      .fill(`{"name": "nightly", "cron": "0 3 * * *", "task": ${LETTER}}`)
    await press('Create')
    await told('The schedule was created')

    await page.getByRole('region', { name: 'Next ticks' }).getByText('nightly').nth(4).waitFor()
    await press('New schedule')
    await page.getByLabel('Name').fill('nightly')
    await page.getByText('there is a schedule nightly already').waitFor()
    expect(await page.getByRole('button', { name: 'Create', exact: true }).isDisabled()).toBe(true)
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).first().click()
    await press('Pause')
    await told('nightly is paused')

    await page.getByRole('link', { name: 'nightly' }).first().click()
    await press('Edit')
    await press('JSON')
    await page.getByRole('textbox', { name: 'Schedule' }).fill(`{"everyMs": 3600000, "task": ${LETTER}}`)
    await press('Save')
    await told('nightly was changed')

    expect((await system.call('GET', '/v1/schedules/nightly')).body.everyMs).toBe(3_600_000)
  })

  it('learns why a member of a canvas is not published yet', async () => {
    const { body } = await system.call('POST', '/v1/canvases', {
      key: 'waiting',
      chain: [JSON.parse(LETTER), { type: 'by-hand' }],
    })
    await page.goto('/canvases/canvas%3Awaiting')

    await page.getByRole('link', { name: body.taskIds[1] }).click()

    await page.getByText('Show the canvas').waitFor()
    await page.getByText('pending', { exact: true }).first().waitFor()
  })

  it('reads what was given up, and sends it again', async () => {
    const letter = {
      ...{
        id: 'type:letter~1~m1',
        queue: 'type:letter',
        kind: 'dispatch',
        taskId: 'letter:form-1',
        type: 'letter',
      },
      ...{ sentAt: '2026-01-01T00:00:00.000Z', arrivedAt: '2026-01-01T00:01:00.000Z' },
      ...{ expiresAt: '2026-01-15T00:01:00.000Z', receives: 5, bytes: 120, replayable: true },
      ...{ sentence: 'The dispatch of letter:form-1 was given up.', next: 'Send it again.' },
    }
    const sent: unknown[] = []
    await page.route('**/v1/dead-letters?*', route => route.fulfill({ json: { items: [letter] } }))
    await page.route('**/v1/dead-letters/replay', (route, request) => {
      sent.push(request.postDataJSON())
      return route.fulfill({ json: { results: [{ id: letter.id, status: 200 }] } })
    })
    await page.goto('/dead-letters')

    await page.getByText('The dispatch of letter:form-1 was given up.').waitFor()
    await press('Send again')
    await told('1 message sent again')

    expect(sent).toEqual([{ ids: [letter.id] }])
  })

  it('finds no action on a page that may only read', async () => {
    await page.route('**/v1/**', async route => {
      const response = await route.fetch()
      await route.fulfill({ response, headers: { ...response.headers(), 'baton-read-only': 'true' } })
    })
    await page.route('**/v1/events*', route => route.fulfill({ status: 501, json: { status: 501 } }))

    for (const path of ['/types/letter', '/schedules', '/failures', '/tasks/letter%3Aform-1']) {
      await page.goto(path)
      await page.getByText('This dashboard only reads').waitFor()
      expect(
        await page
          .locator('main')
          .getByRole('button', { name: /Publish|Pause|Edit|Retry|Run now|Remove|New/ })
          .count(),
      ).toBe(0)
    }
  })

  it('of a system that demands signatures learns how to come in', async () => {
    await page.route('**/v1/**', route => route.fulfill({ status: 403, json: { message: 'Forbidden' } }))

    for (const path of [
      '/',
      '/tasks',
      '/types',
      '/schedules',
      '/workers',
      '/failures',
      '/events',
      '/tasks/a%3A1',
    ]) {
      await page.goto(path)
      await page.getByText('baton dashboard --stack').waitFor()
    }
  })

  it('asks in rounds that are two seconds apart, whatever happens meanwhile', async () => {
    await page.goto('/types/by-hand')
    await page.getByRole('region', { name: 'Lateness' }).waitFor()

    for (let nth = 0; nth < 20; nth++) {
      await system.publish({ type: 'by-hand', delayMs: 60_000 })
      await page.waitForTimeout(400)
    }

    const calls = await page.evaluate<number[][]>(CALLS)
    const gaps = calls.flatMap(times => times.slice(1).map((time, nth) => time - (times[nth] ?? 0)))
    expect(gaps.length).toBeGreaterThan(0)
    // A timer of the browser is late by some milliseconds, so two rounds may be a little nearer to each other.
    expect(Math.min(...gaps)).toBeGreaterThan(PACE_MS * 0.75)
  })
})
