import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { aFolder } from '../support/a-folder.ts'
import { jsonLines, runOn } from '../support/cli/a-terminal.ts'
import { anApiPerTest, published, reported, type TestApi } from '../support/http/an-api.ts'

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

/** Retries a task as another operator does, and lets it succeed. */
async function succeedMeanwhile(key: string): Promise<void> {
  await api.call('POST', `/v1/tasks/jobs:${key}/retry`, {})
  await reported(api, 'succeed')
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
  it('are removed after a question, with a report', async () => {
    for (const key of ['a', 'b', 'c']) await published(api, { key })
    const args = ['remove', '--type', 'jobs', '--report', report]
    const unasked = await baton(...args)
    const refused = await runOn(api, args, { isTTY: true, input: 'n\n' })
    const dry = await baton(...args, '--dry-run')

    expect(unasked).toMatchObject({ code: 2 })
    expect(unasked.err).toContain('Remove 3 tasks? Give --yes')
    expect(refused.code).toBe(1)
    expect(dry.out.trim().split('\n').toSorted()).toEqual(['jobs:a', 'jobs:b', 'jobs:c'])
    expect(existsSync(report)).toBe(false)
    expect(await runOn(api, args, { isTTY: true, input: 'y\n' })).toMatchObject({
      code: 0,
      out: '3 removed\n',
    })
    expect(await baton('remove', '--resume', report)).toMatchObject({ code: 0, out: '0 removed\n' })
    expect(readdirSync(folder)).toEqual(['report.ndjson'])
  })

  it('are chosen by tag, error and time, too', async () => {
    await failedTask('a')
    await failedTask('b')
    const filter = ['--type', 'jobs', '--error', 'B', '--since', '1h']
    const retried = await baton('retry', ...filter, '--yes', '--report', report)

    expect(retried.out).toBe('1 retried\n')
    expect([await statusOf('a'), await statusOf('b')]).toEqual(['failed', 'ready'])
    expect((await baton('retry', '--type', 'jobs', '--until', '1h', '--yes')).out).toBe('0 retried\n')
    expect((await baton('retry', '--type', 'jobs', '--tag', 'team:red', '--yes')).out).toBe('0 retried\n')
  })

  it('that another operator has changed since are left alone', async () => {
    await failedTask('a')
    await failedTask('b')
    const answered = async () => {
      await succeedMeanwhile('a')
      return 'y\n'
    }

    const args = ['retry', '--type', 'jobs', '--report', report]
    const { code, out, err } = await runOn(api, args, { isTTY: true, input: answered })

    expect({ code, out }).toEqual({ code: 1, out: '1 retried, 1 failed\n' })
    expect(err).toContain(`baton retry --resume ${report}`)
    expect([await statusOf('a'), await statusOf('b')]).toEqual(['succeeded', 'ready'])
    expect(linesOf(report)).toContainEqual(expect.objectContaining({ ref: 'jobs:a', ok: false, status: 409 }))
  })

  it.each(['cancel', 'remove'])('are left alone by %s after a change by another operator', async name => {
    await published(api, { key: 'a' })
    const answered = async () => {
      await api.call('PATCH', '/v1/tasks/jobs:a', { priority: 5 })
      return 'y\n'
    }

    const args = [name, '--type', 'jobs', '--report', report]
    await runOn(api, args, { isTTY: true, input: answered })

    expect(await statusOf('a')).toBe('ready')
  })

  it('are done in part when the user interrupts, and the rest with the report', async () => {
    for (const key of ['a', 'b', 'c', 'd']) await published(api, { key })
    const { app, signal } = interrupting(2, 'DELETE')
    const args = ['remove', '--type', 'jobs', '--yes', '--concurrency', '1', '--report', report]
    const first = await runOn({ app }, args, { signal })
    const second = await baton('remove', '--resume', report, '--yes', '--json')

    expect(first).toMatchObject({ code: 130, out: '' })
    expect(first.err).toContain(`interrupted after 2 of 4: continue with baton remove --resume ${report}`)
    expect(JSON.parse(second.out)).toEqual({ removed: 2, failed: 0, report })
  })
})

describe('the printed command that continues', () => {
  it('has the options of the report and of the system, and runs as it is', async () => {
    for (const key of ['a', 'b', 'c']) await failedTask(key)
    const { app, signal } = interrupting(1, 'POST')
    const odd = join(folder, "it's a report.ndjson")
    const args = ['retry', '--type', 'jobs', '--yes', '--concurrency', '1', '--report', odd]
    const more = ['--clean', 'failed', '--url', 'http://127.0.0.1:1']
    const { err } = await runOn({ app }, [...args, ...more], { signal })
    const [, command = ''] = /continue with (baton .*)/.exec(err) ?? []
    const words = JSON.parse(
      execFileSync(
        'bash',
        ['-c', `baton() { node -p 'JSON.stringify(process.argv.slice(1))' -- "$@"; }; ${command}`],
        {
          encoding: 'utf8',
        },
      ),
    )

    const options = ['--clean', 'failed', '--yes', '--url', 'http://127.0.0.1:1']
    expect(words).toEqual(['retry', '--resume', odd, ...options])
    expect(await baton(...words)).toMatchObject({ code: 0, out: '2 retried\n' })
  })
})

describe('a report', () => {
  const begin = async () => {
    await failedTask('a')
    await failedTask('b')
    await baton('retry', '--type', 'jobs', '--yes', '--report', report)
    return readFileSync(report, 'utf8')
  }
  const resume = (...more: string[]) => baton('retry', '--resume', report, '--yes', ...more)

  it('without the end of its selection is refused, and nothing is done', async () => {
    const [header = '', selection = ''] = (await begin()).split('\n')
    for (const text of [
      `${header}\n`,
      `${header}\n${selection}\n`,
      `${header}\n${selection}\n{"selectedInAll":3}\n`,
    ]) {
      writeFileSync(report, text)
      const { code, err, out } = await resume()
      expect({ code, out }).toEqual({ code: 2, out: '' })
      expect(err).toContain('give the filter again')
    }
  })

  it('with a torn last line continues, and its next line stands alone', async () => {
    const text = await begin()
    const whole = text.slice(0, text.trimEnd().lastIndexOf('\n') + 1)
    writeFileSync(report, `${whole}{"ref":"jobs:`)

    await resume()

    expect(linesOf(report)).toHaveLength(5)
    expect((await resume()).out).toContain('0 retried')
  })

  it('with a damaged line is refused', async () => {
    const lines = (await begin()).split('\n')
    writeFileSync(report, [lines[0], '{"sel', ...lines.slice(1)].join('\n'))

    expect(await resume()).toMatchObject({ code: 2, err: expect.stringContaining('line 2 of') })
  })

  it.each([
    ['another action', ['cancel', '--resume'], 'about action retry, not action cancel'],
    ['another system', ['retry', '--url', 'http://127.0.0.1:1', '--resume'], 'not url http://127.0.0.1:1'],
    ['other options', ['retry', '--action', 'continue', '--resume'], 'about no retry, not retry continue'],
    [
      'a filter',
      ['retry', '--type', 'jobs', '--since', '1h', '--resume'],
      'either --resume or --type, --since',
    ],
    ['ids', ['retry', 'jobs:a', '--resume'], 'either ids or --resume'],
  ])('is refused for %s', async (_name, args, message) => {
    await begin()
    expect(await baton(...args, report)).toMatchObject({ code: 2, err: expect.stringContaining(message) })
  })

  it.each([
    ['that is not there', undefined, 'cannot be read'],
    ['that is something else', '[1]\n', 'is not a report of baton retry'],
    ['that is empty', '', 'is not a report of baton retry'],
    ['that is not JSON', 'hello\n', 'is not a report of baton retry'],
  ])('%s is refused', async (_name, text, message) => {
    if (text !== undefined) writeFileSync(report, text)

    expect(await resume()).toMatchObject({ code: 2, err: expect.stringContaining(message) })
  })

  it('that exists is never overwritten', async () => {
    await published(api, { key: 'a' })
    writeFileSync(report, 'precious')
    const err = expect.stringContaining('exists: give another --report')
    const args = ['remove', '--type', 'jobs', '--yes', '--report', report]

    expect(await baton(...args)).toMatchObject({ code: 2, err })
    expect(readFileSync(report, 'utf8')).toBe('precious')
    expect(await statusOf('a')).toBe('ready')
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
