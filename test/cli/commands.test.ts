import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { COMMANDS } from '../../cli/program/commands.ts'
import { ALL_OPERATIONS } from '../../shared/service/operations.ts'
import { jsonLines, runOn } from '../support/cli/a-terminal.ts'
import { anApiPerTest, published, reported, type TestApi } from '../support/http/an-api.ts'

/** Commands that speak to no system. */
const LOCAL = ['dev', 'init', 'worker', 'completion']

const api = anApiPerTest()

const baton = (...args: string[]) => runOn(api, args)

describe('every command', () => {
  it.each(Object.keys(COMMANDS))('%s has a help with examples, and refuses an unknown option', async name => {
    const help = await baton(name, '--help')
    const required = name === 'purge' ? ['--status', 'failed'] : []
    const wrong = await baton(name, ...required, '--no-such-option')

    expect(help.code).toBe(0)
    for (const example of COMMANDS[name]!.examples) expect(help.out).toContain(example)
    expect(help.out.includes('--json')).toBe(!LOCAL.includes(name) && name !== 'schedules')
    expect(wrong.code).toBe(2)
    expect(wrong.err).toContain('--no-such-option')
    expect(wrong.out).toBe('')
  })

  it('says in one line that no system answers, and why', async () => {
    const cause = new Error('connect ECONNREFUSED')
    const refused = () => Promise.reject(new TypeError('fetch failed', { cause }))
    const [usual, named] = await Promise.all([
      runOn(undefined, ['types'], { fetch: refused }),
      runOn(undefined, ['types', '--url', 'http://127.0.0.1:1'], { fetch: refused }),
    ])

    expect(usual.err).toBe(
      'no Baton system answers at http://127.0.0.1:7070: start it with baton dev, or name another one with --url or --stack\n',
    )
    expect(named.err).toBe('no Baton system answers at http://127.0.0.1:1: connect ECONNREFUSED\n')
    for (const { code, out } of [usual, named]) expect({ code, out }).toEqual({ code: 1, out: '' })
  })
})

describe('a task', () => {
  it('whose input does not fit the schema of its type is not published, and each wrong field is named', async () => {
    const inputSchema = { properties: { width: { type: 'integer', minimum: 1 } }, required: ['url'] }
    await api.call('PUT', '/v1/types/image', { kind: 'http', inputSchema })

    const { code, out, err } = await baton('publish', 'image', '{"width":0}')

    expect({ code, out }).toEqual({ code: 2, out: '' })
    expect(err).toContain('input.url is required: a value\n')
    expect(err).toContain('input.width must be at least 1, not 0\n')
  })

  it('is published, shown, listed, cancelled, retried and removed', async () => {
    expect(await baton('publish', 'jobs', '{"width":2}', '--key', 'a', '--tag', 'team=red')).toMatchObject({
      code: 0,
      out: 'jobs:a published\n',
    })
    expect((await baton('publish', 'jobs', '--key', 'a')).out).toBe('jobs:a exists already (ready)\n')
    expect((await baton('get', 'jobs:a')).out).toContain('team=red')
    expect(JSON.parse((await baton('get', 'jobs:a', '--json')).out)).toMatchObject({
      id: 'jobs:a',
      input: { width: 2 },
    })
    expect((await baton('list', 'jobs')).out).toMatch(/^ID +STATUS/)
    expect((await baton('list')).out).toContain('jobs:a')
    expect(JSON.parse((await baton('list', 'jobs', '--json')).out)).toMatchObject({ id: 'jobs:a' })
    expect((await baton('cancel', 'jobs:a')).out).toBe('jobs:a cancelled\n')
    expect((await baton('retry', 'jobs:a')).out).toBe('jobs:a retried\n')
    expect((await baton('remove', 'jobs:a')).out).toBe('jobs:a removed\n')
    expect(await baton('get', 'jobs:a')).toMatchObject({ code: 1, out: '' })
  })

  it('that failed ends result and watch with code 1, and its log is shown', async () => {
    await published(api, { key: 'a' })
    const error = { name: 'Odd', message: 'bad\u001b[2J\u202e' }
    await reported(api, 'fail', { fatal: true, error, log: 'one\ntwo' })

    const watched = await baton('watch', 'jobs:a')
    expect(watched.code).toBe(1)
    expect(watched.out).toContain('Odd: bad\\x1b[2J\\u202e')
    expect((await baton('result', 'jobs:a')).code).toBe(1)
    expect((await baton('logs', 'jobs:a')).out).toBe('one\ntwo\n')
    for (const command of ['doctor', 'why']) {
      const { out } = await baton(command, 'jobs:a')
      expect(out).toContain('Odd: bad')
      expect(out).toContain('baton retry jobs:a starts it over')
    }
    expect(await baton('doctor', 'jobs:a')).toMatchObject({ code: 1 })
    expect(JSON.parse((await baton('why', 'jobs:a', '--json')).out)).toMatchObject({ reason: 'failed' })
    expect((await baton('list', 'jobs', '--json')).out).not.toContain('\u202e')
  })

  it('is listed before older ones', async () => {
    for (const key of ['a', 'b']) {
      await published(api, { key })
      await api.call('POST', `/v1/tasks/jobs:${key}/cancel`)
      await api.system.clock.advance(1)
    }
    for (const [key, delayMs] of [
      ['soon', 60_000],
      ['late', 120_000],
    ] as const)
      await published(api, { key, delayMs })
    const idsOf = async (...args: string[]) => (await baton('list', 'jobs', ...args)).out.match(/jobs:\w+/g)

    expect(await idsOf('--status', 'cancelled')).toEqual(['jobs:b', 'jobs:a'])
    expect(await idsOf('--status', 'delayed')).toEqual(['jobs:late', 'jobs:soon'])
  })

  it('is found by each filter of a list, and by no other value of it', async () => {
    await published(api, { key: 'a', userId: 'ada', tags: { team: 'red', 'cost centre': 'a=b' } })
    await published(api, { key: 'b', userId: 'bob', delayMs: 60_000 })
    const found = async (...args: string[]) =>
      (await baton('list', ...args, '--json')).out
        .split('\n')
        .flatMap(line => (line ? JSON.parse(line).id : []))

    expect(await found('--type', 'jobs', '--type', 'resize', '--order', 'created')).toEqual([
      'jobs:a',
      'jobs:b',
    ])
    expect(await found('jobs', '--tag', 'team:red')).toEqual(['jobs:a'])
    expect(await found('jobs', '--tag', 'team=red', '--tag', 'cost centre:a=b')).toEqual(['jobs:a'])
    expect(await found('jobs', '--tag', 'team:blue')).toEqual([])
    expect(await found('jobs', '--error', 'timeout')).toEqual([])
    expect(await found('--user-id', 'bob', '--until', '1h')).toEqual([])
    expect(await found('--user-id', 'bob', '--since', '1h')).toEqual(['jobs:b'])
    expect(await found('jobs', '--status', 'delayed,ready', '--order', '-due')).toEqual(['jobs:b', 'jobs:a'])
  })

  it('that succeeded has its result printed as JSON', async () => {
    await published(api, { key: 'a' })
    await reported(api, 'succeed', { result: { bytes: 4 } })

    expect(JSON.parse((await baton('result', 'jobs:a')).out)).toEqual({ bytes: 4 })
    expect(JSON.parse((await baton('publish', 'jobs', '--key', 'a', '--wait', '--json')).out)).toEqual({
      bytes: 4,
    })
  })

  it.each([
    ['an input that is not JSON', ['publish', 'jobs', '{'], 'the input is not JSON'],
    ['a status that there is not', ['list', 'jobs', '--status', 'odd'], 'Give some of delayed'],
    ['ids and a filter', ['remove', 'jobs:a', '--type', 'jobs'], 'either ids or --type, not both'],
    ['no number', ['list', 'jobs', '--limit', '0'], 'Give a whole number'],
    ['no duration', ['publish', 'jobs', '--delay', 'soon'], 'Give a duration'],
    ['no URL', ['types', '--url', 'here'], 'here is not a URL'],
    ['no tag', ['list', 'jobs', '--tag', 'team'], 'Give a tag as name=value.'],
    [
      'no command of schedules',
      ['schedules', 'shwo'],
      "unknown command 'shwo' of schedules: there are list, put",
    ],
    [
      'no command of dead-letters',
      ['dead-letters', 'send'],
      "unknown command 'send' of dead-letters: there are list, replay",
    ],
    ['no operation of the API', ['api', 'pach'], "'pach' is invalid"],
    ['too few ids of an operation', ['api', 'get'], 'get takes {id}, and 0 ids are given'],
    ['a query without a value', ['api', 'list', '--query', 'type'], 'not of the form name=value'],
    ['a body that is not JSON', ['api', 'publish', '--body', '{'], '--body is not JSON'],
    ['a key that is too long', ['publish', 'jobs', '--key', 'k'.repeat(300)], 'key'],
  ])('is not reached by %s: code 2', async (_name, args, message) => {
    expect(await baton(...args)).toMatchObject({ code: 2, err: expect.stringContaining(message) })
  })
})

describe('an operation of the API', () => {
  it('is called by its name', async () => {
    const body = '{"type":"jobs","key":"a","input":{"width":2}}'
    const published = await baton('api', 'publish', '--body', body)
    const many = await baton('api', 'list', '--query', 'type=jobs', '--query', 'type=resize')
    const patched = await runOn(api, ['api', 'patch', 'jobs:a', '--body', '-'], { input: '{"priority":5}' })

    expect(JSON.parse(published.out)).toMatchObject({ id: 'jobs:a', created: true })
    expect(JSON.parse(many.out).items).toHaveLength(1)
    expect(JSON.parse(patched.out)).toMatchObject({ task: { priority: 5 } })
    expect(await baton('api', 'remove', 'jobs:a')).toEqual({ code: 0, out: '', err: '' })
    expect(await baton('api', 'get', 'jobs:a')).toMatchObject({ code: 1, out: '' })
  })

  it('is listed with its request, each one except the stream of events', async () => {
    const listed = jsonLines((await baton('api', '--json')).out)
    const expected = ALL_OPERATIONS.filter(({ name }) => name !== 'events').map(({ name, method, path }) => ({
      name,
      method: method.toUpperCase(),
      path,
    }))

    const byName = (a: { name: string }, b: { name: string }) => a.name.localeCompare(b.name)
    expect(listed.sort(byName)).toEqual(expected.sort(byName))
    expect((await baton('api')).out).toMatch(/^getType +GET \/v1\/types\/\{type\}$/m)
  })
})

describe('the system', () => {
  it('shows types, purges one and keeps schedules', async () => {
    expect((await baton('types')).out).toContain('resize')
    expect((await baton('purge', 'jobs', '--status', 'failed', '--yes')).code).toBe(0)
    const put = await baton('schedules', 'put', 'nightly', '{"cron":"0 3 * * *","task":{"type":"jobs"}}')
    expect(put.out).toContain('0 3 * * *')
    expect((await baton('schedules')).out).toContain('nightly')
    expect((await baton('schedules', 'trigger', 'nightly')).code).toBe(0)
    expect((await baton('schedules', 'remove', 'nightly')).out).toBe('nightly removed\n')
    expect((await baton('workers')).code).toBe(0)
    expect(await baton('failures', '--since', '2h')).toMatchObject({ code: 0, err: 'no failures\n' })
    expect((await baton('failures', '--since', '8d')).err).toContain('at most 7 days ago')
    expect((await baton('doctor')).out).toContain('the API answers')
  })

  it.each([['types'], ['doctor'], ['list', 'jobs'], ['events']])(
    'gets the token with every call of %s',
    async (...args) => {
      const tokens: Array<string | null> = []
      const request = (asked: Request) => {
        tokens.push(asked.headers.get('authorization'))
        return tokens.at(-1) === 'Bearer t' ? api.app.request(asked) : new Response(null, { status: 401 })
      }
      const guarded = { app: { request } as TestApi['app'] }
      const without = await runOn(guarded, args)
      tokens.length = 0
      await runOn(guarded, args, { env: { BATON_TOKEN: 't' } })

      expect(without).toMatchObject({
        code: 1,
        err: expect.stringContaining('requires a token: set BATON_TOKEN'),
      })
      expect(new Set(tokens)).toEqual(new Set(['Bearer t']))
    },
  )

  it('has colours on a terminal only, and not under NO_COLOR', async () => {
    const coloured = await runOn(api, ['types'], { isTTY: true })
    const plain = await runOn(api, ['types'], { isTTY: true, env: { NO_COLOR: '1' } })
    const refused = await runOn(api, ['types', '--no-color'], { isTTY: true })

    expect(coloured.out).toContain('\u001b[')
    expect(plain.out + refused.out + (await baton('types')).out).not.toContain('\u001b')
  })

  it.each(['bash', 'zsh', 'fish'])('completion for %s knows every command', async shell => {
    const { code, out } = await baton('completion', shell)

    expect(code).toBe(0)
    for (const name of Object.keys(COMMANDS)) expect(out).toContain(name)
  })
})

it('docs/cli.md has an example for each command, and for no other', () => {
  const page = readFileSync('docs/cli.md', 'utf8')
  const rows = [...page.matchAll(/^\| `([a-z-]+)` \| `baton ([a-z-]+) ?/gm)]

  expect(rows.map(([, name]) => name)).toEqual(Object.keys(COMMANDS))
  for (const [, name, called] of rows) expect(called).toBe(name)
})
