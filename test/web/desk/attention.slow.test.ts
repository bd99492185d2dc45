import { SQSClient } from '@aws-sdk/client-sqs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { hasEnded } from '../../support/local-system/local-system.ts'
import { queuesOf } from '../../support/local-system/queues.ts'
import { chromiumPath } from '../../support/web/browser.ts'
import { aDashboardTab } from '../../support/web/dashboard.ts'
import { startWorker, type WorkerProcess } from '../../support/workers/worker-process.ts'

/** What an operator finds on the overview when something is wrong, what can be done there, and the record of it. */

const HOUR = 3_600_000
const ACTIONS_MAX = 5

describe.skipIf(chromiumPath === undefined)('an operator', () => {
  const { system, page, told } = aDashboardTab()
  const workers: WorkerProcess[] = []
  let actions = 0

  /** The only row with this text. */
  const row = async (text: string | RegExp) => {
    const rows = page.getByRole('main').getByRole('listitem').filter({ hasText: text })
    await rows.first().waitFor()
    expect(await rows.count()).toBe(1)
    return rows
  }
  const open = async (path = '/') => {
    actions = 1
    await page.goto(path)
  }
  const press = async (name: string, within: { getByRole: typeof page.getByRole } = page) => {
    actions += 1
    const known = { name, exact: true }
    await within.getByRole('button', known).or(within.getByRole('link', known)).first().click()
  }
  const isRecorded = async (text: string) => {
    expect(actions).toBeLessThanOrEqual(ACTIONS_MAX)
    await page.goto('/attention')
    await page.getByRole('region', { name: 'Changed by people' }).getByText(text).first().waitFor()
  }
  const fail = async () => {
    const claim = { type: 'pay', workerId: 'clerk', waitMs: 20_000 }
    const [{ task, run }] = (await system.call('POST', '/v1/claims', claim)).body.claims
    const end = { fence: run.fence, error: { name: 'Error', message: 'the bank is closed' }, fatal: true }
    await system.call('POST', `/v1/tasks/${task.id}/runs/${run.id}/fail`, end)
  }

  beforeAll(async () => {
    await system.call('PUT', '/v1/types/pay', { kind: 'http' })
    const steps = [{ name: 'charge', do: { type: 'pay' }, undo: { type: 'pay' } }]
    await system.call('PUT', '/v1/types/order', { kind: 'flow', steps })
  })
  afterAll(() => {
    for (const worker of workers) worker.signal('SIGKILL')
  })

  it('learns that a saga is half undone, and has the failed undo tried again', async () => {
    const id = await system.publish({ type: 'order', key: 's1' })
    await fail()
    await fail()
    await system.taskWhen(id, hasEnded)

    await open()
    const halted = await row('order:s1 is half undone')
    await press('Undo again', halted)
    await press('Undo again', page.getByRole('dialog'))
    await told('The failed undo is tried again')
    await halted.waitFor({ state: 'detached' })

    expect((await system.call('GET', `/v1/tasks/${id}`)).body.status).toBe('compensating')
    await isRecorded('retry-undo order:s1')
  })

  it('sends messages again that were given up', async () => {
    const { giveUp } = queuesOf(system)
    const sqs = new SQSClient(system.cloud.clientOptions)
    const id = await system.publish({ type: 'mysql.init', key: 'letter' })
    await giveUp(sqs, id, 'Init')
    sqs.destroy()
    await system.cloud.functions.find('Sweeper').invoke({})

    await open()
    const letters = await row('1 message of the queue type:mysql.init was given up')
    await press('Send again', letters)
    await press('Send again', page.getByRole('dialog'))
    await told('1 message sent again')
    await letters.waitFor({ state: 'detached' })

    await isRecorded('replayDeadLetters type:mysql.init')
  })

  it('learns that a deployment broke a type, and retries its 300 failed tasks', async () => {
    const input = { failures: 9, how: 'fatal' }
    const broken = (nth: number) => ({ type: 'probe', key: `broken-${nth}`, input, retry: { maxRetries: 0 } })
    await system.publishAll(Array.from({ length: 300 }, (_, nth) => broken(nth)))
    await system.answerWhen('/v1/failures?type=probe', ({ items }) => items[0]?.count === 300, 300_000)

    await open()
    await press('Show the failures', await row(/About 300 runs of probe failed in the last hour, none in/))
    await page.getByRole('cell', { name: '300', exact: true }).first().waitFor()
    await press('Retry all')
    await page.getByRole('dialog').getByText('More than 100 tasks at present').waitFor()
    await press('Retry', page.getByRole('dialog'))
    await page.getByText(/^Retry: (\d+) of \1 done/).waitFor()

    await isRecorded('bulk retry probe')
  }, 480_000)

  it('learns that a worker died, what it ran, and who has taken it over', async () => {
    const died = await startWorker(system, ['--worker-id', 'first'])
    const clean = await startWorker(system, ['--worker-id', 'clean'])
    workers.push(died, clean)
    const id = await system.publish({
      type: 'clip',
      key: 'long',
      input: { sleepMs: 300_000 },
      leaseMs: 2_000,
    })
    const ofFirst = ({ items }: { items: ReadonlyArray<{ id: string; tasks?: string[] }> }) =>
      items.find(one => one.tasks?.includes(id))
    const { items } = await system.answerWhen('/v1/workers', body => ofFirst(body) !== undefined)
    const holder = ofFirst({ items })?.id
    const [killed, stopped] = holder === 'first' ? [died, clean] : [clean, died]
    killed.signal('SIGKILL')
    await system.taskWhen(id, ({ runs }) => runs.at(-1)?.state === 'running' && runs.length > 1)
    const isDead = (one: { id: string; state: string }) => one.id === holder && one.state === 'dead'
    await system.answerWhen('/v1/workers', body => body.items.some(isDead))

    await open()
    await press('Show the workers', await row(`1 worker died within a day: ${holder}`))
    const lost = page.getByRole('row').filter({ hasText: 'dead' })
    await lost.getByText('1 task').waitFor()
    await lost.getByText(holder === 'first' ? 'clean' : 'first', { exact: true }).waitFor()
    await press(id, lost)
    await page.getByRole('heading', { name: 'long' }).waitFor()

    expect(actions).toBeLessThanOrEqual(ACTIONS_MAX)
    stopped.signal('SIGTERM')
    await stopped.ended
    await page.goto('/workers')
    await page.getByRole('row', { name: holder === 'first' ? 'clean stopped' : 'first stopped' }).waitFor()
    expect(await page.getByRole('row').filter({ hasText: 'dead' }).count()).toBe(1)
  })

  it('sees what is late or missed, in the order of urgency, each cause once', async () => {
    const schedule = { everyMs: HOUR, task: { type: 'pay' } }
    await system.call('PUT', '/v1/schedules/hourly', schedule)
    for (const type of ['late', 'idle', 'held']) {
      await system.call('PUT', `/v1/types/${type}`, { kind: 'http' })
      await system.publish({ type, key: 'waits' })
    }
    await system.call('POST', '/v1/types/held/pause', {})
    await system.call('PUT', '/v1/types/never', { kind: 'http' })
    await system.publish({ type: 'late', key: 'runs', priority: 9 })
    await system.call('POST', '/v1/claims', { types: ['late', 'held'], workerId: 'busy', limit: 1 })
    await page.clock.setFixedTime(Date.now() + 2 * HOUR)

    await open('/attention')
    await row('The schedule hourly should have ticked')
    const texts = await page.getByRole('main').getByRole('listitem').locator('p').allTextContents()
    const order = ['No worker serves idle', 'schedule hourly', 'a worker of late', 'held is paused']
    const found = order.map(text => texts.findIndex(one => one.includes(text)))

    expect(found).toEqual(found.toSorted((a, b) => a - b))
    expect(texts.filter(text => /\b(idle|late|held)\b/.test(text))).toHaveLength(3)
    await press('Resume', await row('held is paused'))
    await press('Resume', page.getByRole('dialog'))
    await told('held runs again')
    await isRecorded('resumeType held')
  })
})
