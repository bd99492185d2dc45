import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { writeTasks } from '../support/local-system/write-tasks.ts'
import { anEndedRun, aRun, aTask, HOUR } from '../support/tasks/a-task.ts'
import { chromiumPath } from '../support/web/browser.ts'
import { aDashboardTab } from '../support/web/dashboard.ts'

/** What an operator of a large system meets: many tasks of 50 types, an outage, a new version, and links of other sites. */

const TYPES = 50
/** Ten types together have more tasks than an order in memory may sort. */
const TASKS_OF_TYPE = 110
const LONG_TYPE = `type-7-${'long'.repeat(22)}`
const HOSTILE = '<img src=x onerror=alert(1)>\u202Etxt'
const typeName = (nth: number) => (nth === 7 ? LONG_TYPE : `type-${nth}`)

/** Of each type the first tasks are failed, running, ready, retried and delayed; all others have succeeded. */
function taskOf(nth: number, now: number) {
  const ofType = Math.floor(nth / TYPES)
  const at = now - HOUR + nth * 500
  const head = {
    ...({ type: typeName(nth % TYPES), key: `order-${ofType}`, kind: 'http', ordering: 'priority' } as const),
    ...{ shard: ofType % 4, createdAt: at, updatedAt: at, dueAt: at },
  }
  const error = { name: 'TimeoutError', message: `no answer of the shop ${HOSTILE}` }
  const began = { startedAt: at, fence: 1 }
  if (ofType === 0)
    return aTask({ ...head, ...began, state: 'failed', error, finishedAt: at + 1_300, userId: `user-${nth}` })
  if (ofType === 1)
    return aTask({
      ...head,
      ...began,
      live: [aRun({ workerId: 'worker-9', startedAt: at, leaseUntil: now + HOUR })],
    })
  if (ofType === 2) return aTask({ ...head, tags: { team: `red-${nth}` } })
  if (ofType === 3) {
    const ended = [anEndedRun({ state: 'failed', startedAt: at, endedAt: at, error })]
    return aTask({ ...head, ended, dueAt: now + HOUR, retrying: true })
  }
  if (ofType === 4) return aTask({ ...head, dueAt: now + 2 * HOUR })
  return aTask({ ...head, ...began, state: 'succeeded', finishedAt: at + 20 })
}

describe.skipIf(chromiumPath === undefined)('with 5,500 tasks of 50 types', () => {
  const { system, page, complaints, press } = aDashboardTab()
  const rows = () => page.getByRole('table', { name: 'Tasks' }).getByRole('row')
  const names = () => page.locator('.row-name a').allTextContents()

  beforeAll(async () => {
    for (let nth = 0; nth < TYPES; nth++)
      await system.call('PUT', `/v1/types/${typeName(nth)}`, { kind: 'http' })
    const now = Date.now()
    await writeTasks(system, TYPES * TASKS_OF_TYPE, nth => taskOf(nth, now))
  })

  it('focus', async () => {
    await page.goto('/')
    await page.getByRole('table').first().waitFor()
    await page.keyboard.press('Control+k')
    console.log(await page.evaluate('document.activeElement.outerHTML'))
    await page.waitForTimeout(500)
    console.log(await page.evaluate('document.activeElement.outerHTML'))
    await page.keyboard.type('order-17')
    console.log(await page.locator('.palette-input').inputValue())
    await page.waitForTimeout(3000)
    console.log(await page.locator('.palette-input').inputValue())
    console.log(await page.locator('dialog').innerText())
    console.log(complaints())
  })

  it('SHOTS', async () => {
    const shot = async (name: string) => {
      for (const width of [390, 768, 1440])
        for (const colorScheme of ['light', 'dark'] as const) {
          await page.setViewportSize({ width, height: 900 })
          await page.emulateMedia({ colorScheme })
          await page.waitForTimeout(300)
          await page.screenshot({ path: `/tmp/w/bshots/${name}-${width}-${colorScheme}.png` })
        }
    }
    await page.goto('/')
    await page.getByRole('table').first().waitFor()
    await page.keyboard.press('Control+k')
    await page.keyboard.type('order-17')
    await page.waitForTimeout(5000)
    await shot('palette')
    console.log(await page.locator('dialog').innerText())
    await page.keyboard.press('Escape')
    const t = Date.now()
    await page.goto('/tasks')
    await rows().nth(1).waitFor()
    console.log('tasks page', Date.now() - t)
    await shot('tasks')
    await page.goto('/tasks?status=failed')
    await rows().nth(1).waitFor()
    await shot('failed')
    await page.goto(
      '/tasks?status=ready&status=running&status=delayed&columns=state&columns=tags&columns=created&columns=when',
    )
    await rows().nth(1).waitFor()
    await press('More')
    await shot('open')
    await page.goto('/tasks?q=order-17')
    await rows().nth(1).waitFor()
    await shot('search')
    await page.goto('/tasks?q=nothing-like-this')
    await page.getByText('Nothing found').waitFor()
    await shot('nothing')
    await page.goto('/tasks?status=failed')
    await press('Views')
    await page.getByLabel('Keep the present view as').fill('failed ones of the long weekend '.repeat(3))
    await press('Keep')
    await shot('views')
  })
})
