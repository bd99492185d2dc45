import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { COMMANDS } from '../../cli/program/commands.ts'
import { LOCAL_CREDENTIALS } from '../../local/account.ts'
import { aFolder } from '../support/a-folder.ts'
import { batonInPipes, batonInTerminal, inShell } from '../support/cli/a-process.ts'
import { anAws, type FakeAws } from '../support/cli/an-aws.ts'
import { aLocalSystem } from '../support/local-system/local-system.ts'

/** Every command as a process on one local system: in a pseudo-terminal, and between pipes. */

const HOUR_MS = 3_600_000
const ESCAPE = '\u001b'
const COLOURED = new RegExp(`${ESCAPE}\\[\\d+m`)
const SEQUENCE = new RegExp(`${ESCAPE}\\[[\\d;?]*[a-zA-Z]`, 'g')

const system = aLocalSystem()
let aws: FakeAws
let environment: Readonly<Record<string, string>>
let folder: string

beforeAll(async () => {
  const { sessionToken } = system.cloud.clientOptions.credentials
  aws = await anAws(() => ({ ...LOCAL_CREDENTIALS, sessionToken }))
  folder = aFolder()
  environment = { BATON_URL: system.cloud.apiUrl }
  await system.publish({ type: 'probe', key: 'fails', input: { failures: 1, how: 'fatal' } })
  await system.publish({ type: 'probe', key: 'later', input: {}, delayMs: HOUR_MS, tags: { team: 'red' } })
  await system.publish({ type: 'probe', key: 'done', input: {} })
  for (const key of ['retried', 'cancelled', 'removed'])
    await system.publish({ type: 'video', key, input: {}, delayMs: HOUR_MS })
  await system.call('POST', '/v1/tasks/video%3Aretried/cancel')
  await system.taskWhen('probe:fails', ({ status }) => status === 'failed')
  await system.taskWhen('probe:done', ({ status }) => status === 'succeeded')
  await system.answerWhen('/v1/failures', ({ items }) => items.length > 0)
})
afterAll(async () => {
  await aws?.stop()
})

/** What a command is called with, its exit code, and what its output shows. */
type Case = readonly [args: readonly string[], code: number, shows: RegExp]

const ENDING: readonly Case[] = [
  [['publish', 'probe', '{}', '--key', 'new', '--delay', '1h'], 0, /probe:new/],
  [['get', 'probe:done'], 0, /succeeded/],
  [['get', 'probe:none'], 1, /probe:none/],
  [['why', 'probe:later'], 0, /delayed/],
  [['list', 'probe', '--status', 'failed', '--since', '1h'], 0, /probe:fails/],
  [['list', 'probe', '--tag', 'team:red'], 0, /probe:later/],
  [['search', 'done'], 0, /probe:done/],
  [['watch', 'probe:fails'], 1, /failed/],
  [['result', 'probe:done'], 0, /./],
  [['result', 'probe:fails'], 1, /probe:fails/],
  [['logs', 'probe:fails'], 0, /./],
  [['retry', 'video:retried', '--action', 'retry-do'], 1, /./],
  [['cancel', 'video:cancelled'], 0, /cancelled/],
  [['remove', 'video:none'], 1, /./],
  [['remove', '--type', 'video', '--status', 'delayed', '--dry-run'], 0, /selected, nothing was done/],
  [['bulk', 'none'], 1, /no bulk operation/],
  [['types'], 0, /probe/],
  [['types', 'probe'], 0, /handler/],
  [['pause', 'clip'], 0, /clip/],
  [['resume', 'clip'], 0, /clip/],
  [['purge', 'clip', '--status', 'failed', '--yes'], 0, /failed/],
  [['schedules', 'put', 'nightly', '{"cron":"0 3 * * *","task":{"type":"clip"}}'], 0, /nightly/],
  [['schedules'], 0, /nightly/],
  [['schedules', 'pause', 'nightly'], 0, /paused/],
  [['workers'], 0, /./],
  [['failures', '--type', 'probe'], 0, /probe/],
  [['api', 'getType', 'probe'], 0, /probe/],
  [['doctor', 'probe:later'], 0, /./],
  [['list'], 0, /probe:later/],
  [['canvases'], 0, /there are no canvases|canvas:/],
  [['watch', 'probe:none', '--interval', 'soon'], 2, /Give a duration/],
]

describe('every command', () => {
  it('that ends by itself is among the cases', () => {
    const elsewhere = ['events', 'dead-letters', 'dashboard', 'dev', 'init', 'worker', 'completion']
    const covered = [...ENDING.map(([[name]]) => name), ...elsewhere]

    expect(Object.keys(COMMANDS).filter(name => !covered.includes(name))).toEqual([])
  })

  it.each(ENDING)('%j ends with %i in a terminal and between pipes', async (args, code, shows) => {
    const terminal = batonInTerminal(args, environment)
    const inTerminal = await terminal.exitCode
    const [piped, json] = await Promise.all([
      batonInPipes(args, environment),
      batonInPipes([...args, '--json'], environment),
    ])

    expect(terminal.output().replaceAll(SEQUENCE, '')).toMatch(shows)
    expect([inTerminal, piped.code, json.code]).toEqual([code, code, code])
    expect(piped.out + piped.err).toMatch(shows)
    expect(piped.out + piped.err + json.out + json.err).not.toContain(ESCAPE)
    if (code !== 2) for (const text of [json.out, json.err]) expectJson(text)
  })

  it.each([
    ['in a terminal', {}, true],
    ['with NO_COLOR', { NO_COLOR: '1' }, false],
    ['in a terminal without colours', { TERM: 'dumb' }, false],
  ])('has colours %s: %s', async (_name, more, isColoured) => {
    const terminal = batonInTerminal(['types'], { ...environment, ...more })

    expect(await terminal.exitCode).toBe(0)
    expect(COLOURED.test(terminal.output())).toBe(isColoured)
  })

  it.each(['list probe --all', 'types --json', 'get probe:done', 'events --json'])(
    'ends with 0 when the reader has enough: baton %s | head -1',
    async command => {
      const publishing = command.startsWith('events') ? publishUntilStopped() : undefined
      const { out, err } = await inShell(`baton ${command} | head -1; echo "\${PIPESTATUS[0]}"`, environment)
      await publishing?.stop()

      expect(err).toBe('')
      expect(out.trim().split('\n')).toEqual([expect.stringMatching(/./), '0'])
    },
  )
})

/** One document, or a document on each line. */
function expectJson(text: string): void {
  if (text.trim() === '') return
  try {
    JSON.parse(text)
  } catch {
    for (const line of text.trim().split('\n')) JSON.parse(line)
  }
}

/** Publishes tasks, so that events keep happening. */
function publishUntilStopped(): { stop(): Promise<void> } {
  let isOver = false
  const work = (async () => {
    for (let nth = 0; !isOver; nth++) {
      await system.publish({ type: 'probe', key: `event-${nth}`, input: {} })
      await system.taskWhen(`probe:event-${nth}`, ({ status }) => status === 'succeeded')
    }
  })()
  return {
    stop: () => {
      isOver = true
      return work
    },
  }
}

describe('Ctrl-C', () => {
  it('ends watch, and leaves the terminal as it was', async () => {
    const terminal = batonInTerminal(['watch', 'probe:later'], environment)
    await terminal.shows(/probe:later[\s\S]*delayed/)
    terminal.interrupt()

    expect(await terminal.exitCode).toBe(130)
    expect(terminal.output()).toContain('\u001b[?25l')
    expect(terminal.output().endsWith('\u001b[?7h\u001b[?25h')).toBe(true)
  })

  it('ends watch of a type, too', async () => {
    const terminal = batonInTerminal(['watch', 'probe'], environment)
    await terminal.shows(/1 .*failed/)
    terminal.interrupt()

    expect(await terminal.exitCode).toBe(130)
  })

  it('ends events', async () => {
    const publishing = publishUntilStopped()
    const terminal = batonInTerminal(['events', '--task-type', 'probe'], environment)
    await terminal.shows(/task .*succeeded/)
    terminal.interrupt()

    expect(await terminal.exitCode).toBe(130)
    await publishing.stop()
  })

  it('at the question does nothing', async () => {
    const terminal = batonInTerminal(['remove', '--type', 'video', '--status', 'delayed'], environment)
    await terminal.shows(/Remove \d+ tasks?\? \[y\/N\]/)
    terminal.interrupt()

    expect(await terminal.exitCode).toBe(130)
    expect((await system.call('GET', '/v1/tasks/video%3Aremoved')).body.status).toBe('delayed')
  })

  it('in the middle of many tasks leaves the rest to the server', async () => {
    const file = join(folder, 'many.ndjson')
    writeFileSync(file, Array.from({ length: 400 }, (_, n) => `{"sleepMs":${n}}`).join('\n'))
    await batonInPipes(['publish', 'video', '--from', file, '--delay', '1h', '--tag', 'n=1'], environment)

    const args = ['cancel', '--type', 'video', '--status', 'delayed']
    const terminal = batonInTerminal(args, environment)
    await terminal.shows(/Cancel \d+ tasks\? \[y\/N\]/)
    terminal.type('y\r')
    await terminal.shows(/\d+ of \d+ done/)
    terminal.interrupt()
    const code = await terminal.exitCode
    const [, id = ''] = /the server continues; baton bulk (\w+)/.exec(terminal.output()) ?? []
    const isOver = async () => (await system.call('GET', `/v1/bulk/${id}`)).body.state === 'finished'
    await expect.poll(isOver, { timeout: 120_000 }).toBe(true)

    expect(code).toBe(130)
    expect((await system.call('GET', '/v1/types/video/counts')).body.delayed).toBe(0)
  })

  it('lets a worker finish, which has found its system by the stack', async () => {
    aws.stacks.Baton = { outputs: system.cloud.outputs as Record<string, string> }
    const args = ['worker', 'test/system/tasks/by-workers.ts', '--stack', 'Baton', '--region', 'us-east-1']
    const worker = batonInTerminal(args, {
      ...system.cloud.environment,
      AWS_ENDPOINT_URL_CLOUDFORMATION: aws.url,
    })
    await worker.shows(/worker \S+ \(process \d+\) serves .*clip/)
    worker.interrupt()

    expect(await worker.exitCode).toBe(0)
    expect(worker.output()).toContain('stops; 0 runs under way')
  })
})
