import { once } from 'node:events'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { type DevProcess, spawnBaton, startDevProcess } from '../../support/dev/dev-process.ts'
import { aShop, aTask, type Shop } from '../../support/dev/shop.ts'
import { isAlive, processesOf } from '../../support/local-system/local-process.ts'

/** `baton dev` in a project outside of this repository: one system that lives through all edits, in this order. */

let shop: Shop
let dev: DevProcess

const REFUSED = "throw new Error('no such user', { cause: new TypeError('no @') })"

/** Code that loads in the synthesis, and not in a function. */
const UNLOADABLE = "if (process.env.AWS_LAMBDA_FUNCTION_NAME) throw new Error('no settings')\n"

const FLOW = `import { defineFlow } from 'baton-tasks'
import { task as resize } from './resize.ts'
import { task as mail } from './mail.ts'

export const order = defineFlow('order', {
  steps: [
    { name: 'reserve', do: resize, undo: resize },
    { name: 'notify', do: mail, retry: { maxRetries: 0 } },
  ],
})
`

beforeAll(async () => {
  shop = aShop({
    'tasks/mail.ts': aTask('mail', REFUSED),
    'tasks/unset.ts': UNLOADABLE + aTask('unset', ''),
    'tasks/exit.ts': aTask(
      'exit',
      'input.signal ? process.kill(process.pid, input.signal) : process.exit(3); await new Promise(() => {})',
      'retry: { maxRetries: 0 },',
    ),
    'tasks/order.ts': FLOW,
  })
  shop.edit(
    'infra/app.ts',
    '// more',
    "for (const id of ['unset', 'exit']) tasks.addHandler(id, { entry: 'tasks/' + id + '.ts' })\ntasks.addFlow('Order', { entry: 'tasks/order.ts' })\n// more",
  )
  dev = await startDevProcess(shop.folder)
})

afterAll(() => dev?.stop())

/** What the system has printed says why it took no change over. */
afterEach(({ task }) => {
  if (task.result?.state === 'fail') console.error(dev?.lines.join('\n'))
})

describe('baton dev', () => {
  it('says where it serves, what it serves from which file, and how a worker joins', () => {
    const text = dev.lines.join('\n')

    expect(text).toMatch(/Baton is up after \d+\.\d s\./)
    expect(text).toMatch(/resize +tasks\/resize\.ts/)
    expect(text).toMatch(/video +served by workers/)
    expect(text).toContain(`npx baton worker FILE --url ${dev.url}`)
  })

  it('shows each run in one line, with what the handler prints and logs', async () => {
    await dev.run('resize', 'first')
    await dev.run('mail', 'first')

    await dev.line(/ ✓ resize:first succeeded after \d/)
    await dev.line(/ resize:first resizing$/)
    await dev.line(/ resize:first printed$/)
    await dev.line(
      / ✗ mail:first failed after .+ \(attempt 1\): Error: no such user \(tasks\/mail\.ts:7:11\) ← TypeError: no @; next try in/,
    )
  })

  it('names the steps of a flow, with their direction and outcome', async () => {
    await dev.run('order', 'ff1')

    await dev.line(/ ✓ order:ff1 reserve done after \d/)
    await dev.line(/ ✗ order:ff1 notify failed after .+ Error: no such user .+; its flow is undone now/)
    await dev.line(/ ↺ order:ff1 reserve undone after \d.*; its flow has failed/)
  })

  it('fails runs with the reason why their code does not load, until it is mended', async () => {
    const running = dev.run('unset', 'first')
    await dev.line(
      / ✗ unset:first failed .+ does not load \(Error: no settings\).+ \(tasks\/unset\.ts:1:\d+\)/,
    )
    const { body } = await dev.call('GET', '/v1/tasks/unset:first')
    expect(body.error.message).toMatch(/does not load .+ mend it and save the file/)

    shop.write('tasks/unset.ts', aTask('unset', ''))

    await dev.line(/↻ unset: new code is live/)
    expect((await running).status).toBe('succeeded')
  })

  it.each([
    ['its exit code', {}, 'exit status 3'],
    ['its signal', { signal: 'SIGKILL' }, 'signal: SIGKILL'],
  ])('says on the task that the process of its run has ended, with %s', async (_what, input, how) => {
    const { status, error } = await dev.run('exit', how, input)

    expect([status, error.name]).toEqual(['failed', 'ProcessDied'])
    expect(error.message).toContain(how)
  })

  it('runs the new code of a changed handler, also of a file that it imports', async () => {
    expect((await dev.run('resize', 'old')).result).toEqual({ version: 1 })

    shop.edit('tasks/version.ts', 'number = 1', 'number = 2')
    await dev.line(/↻ resize: new code/)

    expect((await dev.run('resize', 'new')).result).toEqual({ version: 2 })
  })

  it('loses no task while a handler changes five times', async () => {
    const round = (nth: number) =>
      Array.from({ length: 100 }, (_one, index) => ({
        type: 'resize',
        key: `round-${nth}-${index}`,
        input: {},
      }))
    const from = dev.lines.length

    for (let nth = 0; nth < 5; nth++) {
      await dev.call('POST', '/v1/tasks/batch', { tasks: round(nth) })
      shop.write('tasks/version.ts', `export const VERSION: number = ${10 + nth}\n`)
    }

    const counts = async () => (await dev.call('GET', '/v1/types/resize/counts')).body
    await expect.poll(counts).toMatchObject({ ready: 0, running: 0, failed: 0, succeeded: 503 })
    expect(lostRuns(dev.lines.slice(from))).toEqual([])
    let asked = 0
    const liveVersion = async () => (await dev.run('resize', `settled-${asked++}`)).result.version
    await expect.poll(liveVersion).toBe(14)
  })

  it('shows a broken handler with its place, runs the old code on, and recovers', async () => {
    const from = dev.lines.length
    shop.write('tasks/version.ts', 'export const VERSION: number = = 3')
    await dev.line(/✗ .*resize.* cannot be bundled: tasks\/version\.ts:1:\d+: Unexpected "="/, from)
    expect((await dev.run('resize', 'while-broken')).result).toEqual({ version: 14 })

    shop.edit('tasks/version.ts', '= = 3', '= 3')
    await dev.line(/↻ resize: new code/, from)

    expect((await dev.run('resize', 'mended')).result).toEqual({ version: 3 })
  })

  it('says where new code throws while it loads, runs the old code on, and recovers', async () => {
    const from = dev.lines.length
    shop.write('tasks/version.ts', `${UNLOADABLE}export const VERSION: number = 4\n`)

    await dev.line(
      /✗ the new code of [a-z]+ does not load: Error: no settings \(tasks\/version\.ts:1:\d+\)/,
      from,
    )
    await dev.line(/The earlier code keeps running\. Mend the file and save it\./, from)
    expect((await dev.run('resize', 'while-unloadable')).result).toEqual({ version: 3 })

    shop.write('tasks/version.ts', 'export const VERSION: number = 3')
    await dev.line(/↻ .*resize.*: new code is live/, from)
    expect((await dev.run('resize', 'loadable')).result).toEqual({ version: 3 })
  })

  it('deploys a new type and changed options in place, and keeps what is there', async () => {
    const from = dev.lines.length
    shop.write('tasks/thumb.ts', aTask('thumb', ''))
    shop.edit('tasks/resize.ts', 'async run', 'retry: { maxRetries: 7 },\n  async run')
    shop.edit('infra/app.ts', '// more', "tasks.addHandler('Thumb', { entry: 'tasks/thumb.ts' })\n// more")

    await dev.line(/↻ Shop is deployed again after .*new: thumb/, from)

    expect((await dev.call('GET', '/v1/types/resize')).body.defaults.retry).toEqual({ maxRetries: 7 })
    expect((await dev.run('thumb', 'first')).result).toEqual({ version: 3 })
    expect((await dev.call('GET', '/v1/tasks/resize:first')).body.result).toEqual({ version: 1 })
  })

  it('deploys a schedule of a handler’s file at a save, and removes it when it is gone', async () => {
    const status = async () => (await dev.call('GET', '/v1/schedules/yearly')).status
    const schedule =
      "\nexport const yearly = defineSchedule('yearly', { cron: '0 0 29 2 *', task: task.with({}) })\n"
    shop.write(
      'tasks/thumb.ts',
      aTask('thumb', '').replace('{ defineTask', '{ defineSchedule, defineTask') + schedule,
    )
    await expect.poll(status).toBe(200)

    shop.write('tasks/thumb.ts', aTask('thumb', ''))

    await expect.poll(status).toBe(404)
  })

  it('shows a broken stack with its place, and leaves the old one running', async () => {
    const from = dev.lines.length
    shop.edit('infra/app.ts', '// more', "throw new Error('not yet')")
    await dev.line(/✗ infra\/app\.ts:\d+(:\d+)?: Error: not yet/, from)

    expect((await dev.run('thumb', 'while-broken')).status).toBe('succeeded')

    shop.edit(
      'infra/app.ts',
      "throw new Error('not yet')",
      "tasks.addHandler('Late', { entry: 'tasks/late.ts' })",
    )
    shop.write('tasks/late.ts', aTask('late', ''))
    await dev.line(/↻ Shop is deployed again after .*new: late/, from)
    expect((await dev.run('late', 'first')).status).toBe('succeeded')
  })

  it('is joined by a worker that is given its address', async () => {
    const { child, lines } = spawnBaton(shop.folder, ['worker', 'tasks/video.ts', '--url', dev.url])

    const { status } = await dev.run('video', 'first')

    expect(status).toBe('succeeded')
    expect(lines.join('\n')).toMatch(/worker .+ serves video/)
    child.kill('SIGTERM')
    await once(child, 'exit')
  })

  it('ends with the first signal, and leaves no process behind', async () => {
    const below = await processesOf(dev.child.pid ?? 0)
    expect(below.length).toBeGreaterThan(3)

    expect(await dev.stop('SIGTERM')).toBe(0)

    await expect.poll(() => below.filter(({ pid }) => isAlive(pid))).toEqual([])
  })
})

/** The runs that were lost, except for those that a slow store has lost: then no change of code was the cause. */
function lostRuns(lines: readonly string[]): readonly string[] {
  const idIn = (line: string) => /resize:\S+/.exec(line)?.[0]
  const unanswered = new Set(lines.filter(line => line.includes('the table does not answer')).map(idIn))
  return lines.filter(line => line.includes('was lost') && !unanswered.has(idIn(line)))
}

it('what was published before a restart with --data is still there', async () => {
  const other = aShop()
  const args = ['--data', 'state']
  const first = await startDevProcess(other.folder, args)
  await first.run('resize', 'kept')
  expect(await first.stop()).toBe(0)

  const second = await startDevProcess(other.folder, args)

  expect((await second.call('GET', '/v1/tasks/resize:kept')).body.status).toBe('succeeded')
  expect(await second.stop()).toBe(0)
})

it('an app that is broken at the start ends it with code 1, and says where', async () => {
  const { child, lines } = spawnBaton(aShop({ 'infra/app.ts': "throw new Error('no app')" }).folder, [
    'dev',
    '--port',
    '0',
  ])

  const [code] = (await once(child, 'exit')) as [number]

  expect(lines.filter(line => !line.startsWith('…'))).toEqual(['infra/app.ts:1: Error: no app'])
  expect(code).toBe(1)
})
