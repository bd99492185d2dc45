import { beforeAll, describe, expect, it } from 'vitest'
import { chromiumPath } from '../../support/web/browser.ts'
import { aDashboardTab } from '../../support/web/dashboard.ts'

/** No action repeats what has been done without saying so and asking, and what was done stays visible. */

type End = 'succeed' | 'fail'
const ONCE = { retry: { maxRetries: 0 } }

describe.skipIf(chromiumPath === undefined)('a reader', () => {
  const { system, page, press, told, complaints } = aDashboardTab()
  const dialog = () => page.getByRole('dialog')
  const confirm = (name: string) => dialog().getByRole('button', { name, exact: true }).click()
  const get = async (id: string) => (await system.call('GET', `/v1/tasks/${id}`)).body
  const open = (id: string) => page.goto(`/tasks/${encodeURIComponent(id)}`)
  const firstAction = () => page.locator('.page-actions button').first().innerText()

  /** Publishes a task and lets its runs end so, one after the other. */
  async function ran(type: string, key: string, ...ends: End[]): Promise<string> {
    const id = await system.publish({ type, key, input: {}, ...(type === 'work' && ONCE) })
    for (const end of ends) {
      const { body } = await system.call('POST', '/v1/claims', {
        type: 'work',
        workerId: 'w1',
        waitMs: 20_000,
      })
      const [{ run }] = body.claims
      const error = { name: 'Error', message: 'the bank is closed' }
      await system.call('POST', `/v1/tasks/${id}/runs/${run.id}/${end}`, {
        fence: run.fence,
        ...(end === 'fail' && { error }),
      })
    }
    return id
  }

  beforeAll(async () => {
    await system.call('PUT', '/v1/types/work', { kind: 'http' })
    const work = { type: 'work', ...ONCE }
    const steps = ['reserve', 'charge', 'ship'].map(name => ({ name, do: work, undo: work }))
    await system.call('PUT', '/v1/types/order', { kind: 'flow', steps })
  })

  const attempts = () =>
    page.getByRole('region', { name: 'Timeline' }).getByRole('listitem').filter({ hasText: 'Attempt' })

  it('undoes a half undone saga again by the first button, and is asked before', async () => {
    const id = await ran('order', 'half', 'succeed', 'succeed', 'fail', 'succeed', 'fail')
    const bodies: unknown[] = []
    page.on('request', request => {
      if (request.url().endsWith('/retry')) bodies.push(request.postDataJSON())
    })
    await open(id)
    await page.getByRole('button', { name: 'Undo again' }).waitFor()
    const runsBefore = await attempts().count()

    expect(await firstAction()).toBe('Undo again')
    await press('Undo again')
    expect(await dialog().innerText()).toMatch(
      /Undoes again: charge\.\s+Then undoes, where it can be undone: reserve\.\s+Done steps are not done again\./,
    )
    await press('Keep as it is')
    expect(bodies).toEqual([])
    await press('Other ways to continue')
    expect(await page.getByRole('menuitem').allInnerTexts()).toEqual([
      'Skip the failed undo',
      'Do the failed step again',
      'Continue: the step was repaired by hand',
      'Restart all steps',
    ])
    await page.getByRole('menuitem', { name: 'Restart all steps' }).click()
    expect(await dialog().innerText()).toContain('may happen a second time: reserve, charge.')
    await press('Keep as it is')
    await press('Undo again')
    await confirm('Undo again')
    await told('The task continues')

    expect(bodies).toEqual([{ action: 'retry-undo', ifRevision: 0 }])
    expect((await get(id)).status).toBe('compensating')
    expect(await attempts().count()).toBe(runsBefore)
    await system.call('DELETE', `/v1/tasks/${id}`)
  })

  it('restarts an undone saga by name only, and still sees what was done before', async () => {
    const id = await ran('order', 'undone', 'succeed', 'fail', 'succeed', 'succeed')
    await open(id)
    await page.getByRole('button', { name: 'Restart all steps' }).waitFor()

    expect(await page.getByRole('button', { name: 'Other ways to continue' }).count()).toBe(0)
    await press('Restart all steps')
    expect(await dialog().innerText()).toContain('Does all steps from the first: reserve, charge, ship.')
    await confirm('Restart all steps')

    const former = attempts().filter({ hasText: 'Attempt before the restart' })
    await former.filter({ hasText: 'undo reserve' }).waitFor()
    await former.filter({ hasText: 'the bank is closed' }).waitFor()
    await system.call('DELETE', `/v1/tasks/${id}`)
  })

  it('runs a plain task again knowingly, and learns plainly that another person was faster', async () => {
    const id = await ran('work', 'plain', 'fail')
    await open(id)

    await press('Publish a copy')
    await dialog().getByText('its copy does a second time').waitFor()
    await dialog().getByRole('button', { name: 'Close' }).last().click()
    await press('Run again')
    await dialog().getByText('is done a second time, unless the handler recognises it').waitFor()
    await system.call('POST', `/v1/tasks/${id}/retry`, {})
    await system.call('POST', `/v1/tasks/${id}/cancel`, {})
    await confirm('Run again')
    await told('Another person has changed the task since this page showed it, so nothing was done.')

    expect((await get(id)).operations).toHaveLength(2)
  })

  it('leaves out of a bulk retry what needs a decision, and finds each operation on record', async () => {
    const half = await ran('order', 'held', 'succeed', 'fail', 'fail')
    const failed = await ran('work', 'again', 'fail')
    await page.goto('/tasks?type=order&type=work&status=failed')
    for (const id of [half, failed]) await page.getByLabel(`Select ${id}`, { exact: true }).check()
    await press('Retry')
    await dialog().getByText('Failed flows do only what has failed again').waitFor()
    await confirm('Retry')
    await page.getByText('Retry: 1 of 2 done, 1 left out').waitFor()
    await page.getByText('1 task left out').click()
    await page.getByText('A person must decide about it').waitFor()
    await press('Close')

    await page.goto('/failures')
    await page.getByRole('row', { name: /order/ }).getByRole('button', { name: 'Retry all' }).click()
    await dialog().getByText('1 task of these: left out').waitFor()
    await confirm('Retry')
    await page.getByText('Retry: 0 of 1 done, 1 left out').waitFor()
    await press('Close')
    await press('Bulk operations')
    await dialog()
      .getByRole('row', { name: /retry failed: order.*0 of 1/ })
      .getByRole('button', { name: 'Details' })
      .click()
    await page.getByText('1 task left out').click()
    await page.getByText('a person must decide about each').waitFor()

    expect([(await get(half)).status, (await get(half)).operations]).toEqual(['failed', undefined])
    expect((await get(failed)).status).toBe('ready')
    expect(complaints()).toEqual([])
  })
})
