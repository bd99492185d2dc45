import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { aFolder } from '../support/a-folder.ts'
import { jsonLines, runOn } from '../support/cli/a-terminal.ts'
import { anApiPerTest, published, reported, type TestApi } from '../support/http/an-api.ts'
import { servedJobs } from '../support/worlds/memory-system.ts'

const api = anApiPerTest()
let folder: string
let report: string
beforeEach(() => {
  folder = aFolder()
  report = join(folder, 'report.ndjson')
})

const baton = (...args: string[]) => runOn(api, args)
const inputs = (text: string, name = 'in.ndjson') => {
  writeFileSync(join(folder, name), text)
  return join(folder, name)
}
const linesOf = (path: string) => jsonLines(readFileSync(path, 'utf8'))

async function failedTask(key: string): Promise<void> {
  await published(api, { key })
  await reported(api, 'fail', { fatal: true, error: { name: 'E', message: key } })
}

/** The words of a command, as the shell takes them. */
function wordsOf(command: string): string[] {
  const words = execFileSync('bash', ['-c', `printf '%s\\0' ${command}`], { encoding: 'utf8' })
  return words.split('\0').slice(0, -1)
}

const statusOf = async (key: string) => (await api.call('GET', `/v1/tasks/jobs:${key}`)).body.status

/** The API, but the user interrupts the command when it has sent its nth request of a method. */
function interrupting(nth: number, method: string) {
  const interruption = new AbortController()
  let sent = 0
  const request = (asked: Request) => {
    if (asked.method === method && ++sent === nth) interruption.abort()
    return api.app.request(asked)
  }
  return { app: { request } as TestApi['app'], signal: interruption.signal }
}

/** A network that carries out the first `count` requests and loses their answers. */
function losingAnswers(count: number) {
  let sent = 0
  const request = async (asked: Request) => {
    const answer = await api.app.request(asked)
    if (++sent <= count) throw new TypeError('fetch failed', { cause: new Error('ECONNRESET') })
    return answer
  }
  return { request, sent: () => sent }
}

describe('tasks of a filter', () => {
  it('are counted by the server, and removed after a question', async () => {
    for (const key of ['a', 'b', 'c']) await published(api, { key })
    const args = ['remove', '--type', 'jobs']
    const unasked = await baton(...args)
    const refused = await runOn(api, args, { isTTY: true, input: 'n\n' })
    const dry = await baton(...args, '--dry-run')
    const before = await statusOf('a')

    expect(unasked).toMatchObject({ code: 2 })
    expect(unasked.err).toContain('Remove 3 tasks? Give --yes')
    expect(refused.code).toBe(1)
    expect([dry.out, before]).toEqual(['3 selected, nothing was done\n', 'ready'])
    expect(await runOn(api, args, { isTTY: true, input: 'y\n' })).toMatchObject({
      code: 0,
      out: '3 of 3 done\n',
    })
    expect((await baton('remove', '--type', 'jobs', '--yes')).out).toBe('0 of 0 done\n')
  })

  it('are chosen by error and time, too, and their bulk operation can be shown', async () => {
    await failedTask('a')
    await failedTask('b')
    const ofNoCanvas = await baton('remove', '--type', 'jobs', '--canvas-id', 'canvas:a', '--yes')
    expect(ofNoCanvas).toMatchObject({ code: 1, err: expect.stringContaining('no canvas canvas:a') })
    const none = ['--user-id=x', '--tag=a=b', '--until=1h'].map(one =>
      baton('retry', '--type', 'jobs', '--dry-run', one),
    )
    expect((await Promise.all(none)).map(({ out }) => out)).toEqual(
      Array(3).fill('0 selected, nothing was done\n'),
    )
    const retried = await baton('retry', '--type', 'jobs', '--error', 'B', '--since', '1h', '--yes', '--json')
    const shown = await baton('bulk', JSON.parse(retried.out).id)

    expect(JSON.parse(retried.out)).toMatchObject({ state: 'finished', done: 1 })
    expect(shown).toMatchObject({ code: 0, out: '1 of 1 done\n' })
    expect([await statusOf('a'), await statusOf('b')]).toEqual(['failed', 'ready'])
  })

  it('are done by the server when the user interrupts', async () => {
    await failedTask('a')
    const interruption = new AbortController()
    const fetch = (asked: Request) => {
      if (asked.method === 'POST') interruption.abort()
      return api.app.request(asked)
    }
    const args = ['retry', '--type', 'jobs', '--yes']
    const { code, err } = await runOn(api, args, {
      signal: interruption.signal,
      fetch: async one => fetch(one),
    })
    const [, id = ''] = /the server continues; baton bulk (\w+) shows/.exec(err) ?? []
    await servedJobs(api.system)

    expect(code).toBe(130)
    expect((await baton('bulk', id)).out).toBe('1 of 1 done\n')
  })

  it.each([
    [['retry', '--status', 'failed'], 'give the ids of tasks, or --type'],
    [['retry', '--type', 'jobs', '--clean', 'failed'], '--clean is for tasks named by their ids'],
    [['cancel', 'jobs:a', '--type', 'jobs', '--dry-run'], 'give either ids or --type, --dry-run, not both'],
    [['remove', 'jobs:a', '--canvas-id', 'canvas:a'], 'give either ids or --canvas-id, not both'],
  ])('are refused with %s', async (args, message) => {
    expect(await baton(...args)).toMatchObject({ code: 2, err: expect.stringContaining(message) })
  })
})

describe('a report', () => {
  const publish = (...more: string[]) =>
    baton('publish', 'jobs', '--from', inputs('{"n":1}\n{"n":2}\n'), ...more)
  const resume = () => publish('--resume', report)
  const begin = async () => {
    await publish('--report', report)
    return readFileSync(report, 'utf8')
  }

  it('with a torn last line continues, and its next line stands alone', async () => {
    const text = await begin()
    const whole = text.slice(0, text.trimEnd().lastIndexOf('\n') + 1)
    writeFileSync(report, `${whole}{"ref":"2`)

    await resume()

    expect(linesOf(report)).toHaveLength(3)
    expect((await resume()).out).toBe('0 published\n')
  })

  it('with a damaged line is refused', async () => {
    const lines = (await begin()).split('\n')
    writeFileSync(report, [lines[0], '{"sel', ...lines.slice(1)].join('\n'))

    expect(await resume()).toMatchObject({ code: 2, err: expect.stringContaining('line 2 of') })
  })

  it('is refused for another system', async () => {
    await begin()

    const err = expect.stringContaining('not url http://127.0.0.1:1')
    expect(await publish('--url', 'http://127.0.0.1:1', '--resume', report)).toMatchObject({ code: 2, err })
  })

  it.each([
    ['that is not there', undefined, 'cannot be read'],
    ['that is something else', '[1]\n', 'is not a report of baton publish'],
    ['that is empty', '', 'is not a report of baton publish'],
    ['that is not JSON', 'hello\n', 'is not a report of baton publish'],
  ])('%s is refused', async (_name, text, message) => {
    if (text !== undefined) writeFileSync(report, text)

    expect(await resume()).toMatchObject({ code: 2, err: expect.stringContaining(message) })
  })

  it('that exists is never overwritten', async () => {
    writeFileSync(report, 'precious')

    const err = expect.stringContaining('exists: give another --report')
    expect(await publish('--report', report)).toMatchObject({ code: 2, err })
    expect(readFileSync(report, 'utf8')).toBe('precious')
  })
})

describe('publish --from', () => {
  const publish = (...args: string[]) => baton('publish', 'jobs', ...args)

  it('publishes from a file, and a second time only what is left', async () => {
    const file = inputs('id,width:number,note\na,1,"x, ""y"""\nb,two,\nc,3,z\n', 'in.csv')
    const first = await publish('--from', file, '--key-field', 'id', '--report', report)
    inputs('id,width:number,note\na,1,"x, ""y"""\nb,2,\nc,3,z\n', 'in.csv')
    const second = await publish('--from', file, '--key-field', 'id', '--resume', report)

    expect(first).toMatchObject({ code: 1, out: '2 published, 1 failed\n' })
    expect(first.err).toContain('line 2: record 2, column width: two is not a number')
    expect(readFileSync(report, 'utf8')).toContain('column width')
    expect(second).toMatchObject({ code: 0, out: '1 published\n' })
    expect((await api.call('GET', '/v1/tasks/jobs:a')).body.input).toEqual({
      id: 'a',
      width: 1,
      note: 'x, "y"',
    })
  })

  it.each([
    [
      'in.jsonl',
      '{"type":"jobs","key":"a","input":{"n":1}}\n{"type":"resize","priority":3,"tags":{"a":"b"}}\n',
    ],
    ['in.csv', 'type,key,input.n:number,priority:number,tags:json\njobs,a,1,,\nresize,,,3,"{""a"":""b""}"\n'],
  ])('publishes whole tasks of any type from %s, and leaves no file behind', async (name, text) => {
    const file = inputs(text, name)

    const { code, out } = await baton('publish', '--from', file, '--user-id', 'ada', '--json')

    expect({ code, ...JSON.parse(out) }).toEqual({ code: 0, published: 2, existed: 0, failed: 0, unknown: 0 })
    expect((await api.call('GET', '/v1/tasks/jobs:a')).body).toMatchObject({ input: { n: 1 }, userId: 'ada' })
    const { items } = (await api.call('GET', '/v1/tasks?type=resize')).body
    expect(items).toMatchObject([{ priority: 3, tags: { a: 'b' } }])
    expect(readdirSync('.').filter(one => one.startsWith('baton-publish'))).toEqual([])
  })

  it('sends no line again that could start a task over', async () => {
    const file = inputs('{"type":"jobs","key":"a","ifExists":"restart"}\n')
    const { request, sent } = losingAnswers(Number.POSITIVE_INFINITY)

    const { out } = await runOn(api, ['publish', '--from', file, '--report', report], { fetch: request })

    expect(out).toBe('0 published, 1 unknown\n')
    expect(sent()).toBe(1)
  })

  it('takes no key for all lines, and fields within fields from dotted names', async () => {
    const file = inputs('type,key,input.size.width:number,input.size.height:number\njobs,a,1,2\n', 'deep.csv')

    const refused = await publish('--from', file, '--options', '{"key":"x"}')
    expect(refused.err).toContain('give neither --wait nor a key')
    expect(await baton('publish', '--from', file)).toMatchObject({ code: 0, out: '1 published\n' })
    expect((await api.call('GET', '/v1/tasks/jobs:a')).body.input).toEqual({ size: { width: 1, height: 2 } })
  })

  it('reads whole tasks from a pipe, and says what a line without a type lacks', async () => {
    const input = '{"type":"jobs","key":"a"}\n{"key":"b"}\n'

    const { code, out, err } = await runOn(api, ['publish', '--from', '-', '--report', report], { input })

    expect({ code, out }).toEqual({ code: 1, out: '1 published, 1 failed\n' })
    expect(err).toContain(
      'line 2: type is missing: without a type in the command, each line is a task such as',
    )
  })

  it('sends lines of unknown outcome again, and publishes none of them twice', async () => {
    const file = inputs('{"n":1}\n{"n":2}\n')
    const { request, sent } = losingAnswers(8)

    const { code, out } = await runOn(api, ['publish', 'jobs', '--from', file, '--report', report], {
      fetch: request,
    })

    expect({ code, out }).toEqual({ code: 0, out: '2 published\n' })
    expect(sent()).toBeGreaterThan(8)
    expect((await api.call('GET', '/v1/types/jobs/counts')).body.ready).toBe(2)
  })

  it('counts lines whose outcome stays unknown apart from failed ones', async () => {
    const file = inputs('{"n":1}\n{"n":2}\n')
    const { request } = losingAnswers(Number.POSITIVE_INFINITY)

    const { code, out, err } = await runOn(api, ['publish', 'jobs', '--from', file, '--report', report], {
      fetch: request,
    })
    const second = await publish('--from', file, '--resume', report)

    expect({ code, out }).toEqual({ code: 1, out: '0 published, 2 unknown\n' })
    expect(err).toMatch(/line 1: .+\n/)
    expect(second).toMatchObject({ code: 0, out: '2 published\n' })
    expect((await api.call('GET', '/v1/types/jobs/counts')).body.ready).toBe(2)
  })

  it('publishes no line twice after an interruption', async () => {
    const file = inputs(Array.from({ length: 250 }, (_, n) => `{"n":${n}}`).join('\n'))
    const { app, signal } = interrupting(1, 'POST')
    const args = ['publish', 'jobs', '--from', file, '--report', report, '--concurrency', '1']
    const first = await runOn({ app }, args, { signal })
    const second = await publish('--from', file, '--resume', report)

    expect(first.code).toBe(130)
    expect(first.err).toContain(
      `interrupted after 100 tasks: continue with baton publish jobs --from ${file} --resume ${report}\n`,
    )
    expect(second).toMatchObject({ code: 0, out: '150 published\n' })
    expect((await api.call('GET', '/v1/types/jobs/counts')).body.ready).toBe(250)
  })

  it('prints a command that continues as it is: for the same system, with the same tasks', async () => {
    const file = inputs('{"n":"a"}\n{"n":[]}\n', "it's.json")
    const tags = ['--tag', 'team=red', '--tag', 'cost centre=a=b']
    const task = ['--user-id', 'ada', '--delay', '2h', '--priority', '-5', '--if-exists', 'keep']
    const further = ['--options', '{"timeoutMs": 60000}', '--format', 'ndjson', '--key-field', 'n']
    const system = ['--url', 'http://baton.test/']
    const args = ['--from', file, ...further, ...tags, ...task, ...system]
    const first = await publish(...args, '--report', report)
    const [, command = ''] = /continue with baton (.*)\n/.exec(first.err) ?? []
    inputs('{"n":"a"}\n{"n":"b"}\n', "it's.json")
    const second = await baton(...wordsOf(command))

    expect(first).toMatchObject({ code: 1, out: '1 published, 1 failed\n' })
    expect(command).toMatch(/ --url http:\/\/baton\.test\/$/)
    expect(second).toMatchObject({ code: 0, out: '1 published\n' })
    expect((await api.call('GET', '/v1/tasks/jobs:b')).body).toMatchObject({
      ...{ userId: 'ada', tags: { team: 'red', 'cost centre': 'a=b' }, status: 'delayed', priority: -5 },
    })
  })

  it.each([
    [['--key-field', 'name'], 'about no keyField, not keyField name'],
    [['--format', 'csv'], 'about no format, not format csv'],
    [['--priority', '5'], 'not task {"priority":5,"type":"jobs"}'],
  ])('refuses to continue with %s that the report does not know', async (options, message) => {
    const file = inputs('{"n":1}\n')
    await publish('--from', file, '--report', report)

    const err = expect.stringContaining(message)
    expect(await publish('--from', file, '--resume', report, ...options)).toMatchObject({ code: 2, err })
  })

  it('refuses to continue with a file whose published lines are others now', async () => {
    const file = inputs('{"n":1}\n{"n":2}\n')
    await publish('--from', file, '--report', report)
    inputs('{"n":0}\n{"n":1}\n{"n":2}\n')

    const err = expect.stringContaining('line 1 was published with another input')
    expect(await publish('--from', file, '--resume', report)).toMatchObject({ code: 2, err })
  })
})
