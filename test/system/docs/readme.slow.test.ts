import { describe, expect, it } from 'vitest'
import { aLocalSystem } from '../../support/local-system/local-system.ts'
import { readmeSnippets } from '../../support/snippets.ts'

const system = aLocalSystem()

const [publishing = '', working = '', controlling = '', scheduling = ''] = readmeSnippets('sh').filter(
  snippet => snippet.startsWith('curl'),
)

describe('the curl calls of the README', () => {
  it('publish a task and read it', async () => {
    const [published, read] = await answersTo(publishing)

    expect(published).toMatchObject({ status: 201, body: { id: 'word-count:hello', created: true } })
    expect(read).toMatchObject({ status: 200, body: { id: 'word-count:hello' } })
    const task = await system.taskWhen('word-count:hello', ({ status }) => status === 'succeeded')
    expect(task.result).toMatchObject({ words: 6, distinct: 4 })
  })

  it('claim a task, and the caller then ends the run as the text says', async () => {
    const [registered, published, claimed] = await answersTo(working)

    expect([registered, published, claimed].map(answer => answer?.status)).toEqual([201, 201, 200])
    const [{ task, run }] = claimed!.body.claims
    expect(task).toMatchObject({ id: 'render:cover', input: { page: 1 } })
    const path = `/v1/tasks/render:cover/runs/${run.id}`
    const { fence } = run
    expect(await system.call('POST', `${path}/heartbeat`, { fence })).toMatchObject({ status: 200 })
    expect(await system.call('POST', `${path}/succeed`, { fence, result: 'done' })).toMatchObject({
      status: 200,
      body: { task: { status: 'succeeded', result: 'done' } },
    })
  })

  it('limit a type, pause it and resume it', async () => {
    const [limited, paused, resumed] = await answersTo(controlling)

    expect(limited).toMatchObject({
      status: 200,
      body: { type: 'render', limits: { concurrency: { max: 3 } } },
    })
    expect(paused).toMatchObject({ status: 200, body: { type: 'render', paused: true } })
    expect(resumed).toMatchObject({ status: 200, body: { type: 'render', paused: false } })
  })

  it('set a schedule and trigger it', async () => {
    const [set, triggered, read] = await answersTo(scheduling)

    expect([set, triggered, read].map(answer => answer?.status)).toEqual([201, 202, 200])
    expect(read?.body).toMatchObject({
      name: 'nightly',
      nextRunAt: expect.any(String),
      lastRunAt: expect.any(String),
    })
    expect(await system.call('GET', `/v1/tasks/${encodeURIComponent(triggered?.body.taskId)}`)).toMatchObject(
      {
        status: 200,
        body: { type: 'render', parentId: 'schedule:nightly', input: { page: 1 } },
      },
    )
  })
})

/** Makes the calls of a snippet, one after the other, as curl would. */
async function answersTo(snippet: string) {
  const answers = []
  for (const command of snippet.replaceAll('\\\n', ' ').trim().split('\n')) {
    const { method, path, body } = readCurl(command)
    answers.push(await system.call(method, path, body))
  }
  return answers
}

/** A command of the form `curl -X METHOD localhost:7070/path -H 'name: value' -d 'body'`. */
function readCurl(command: string): { method: string; path: string; body: string | undefined } {
  const [curl, ...words] = [...command.matchAll(/'([^']*)'|(\S+)/g)].map(
    ([, quoted, plain]) => quoted ?? plain,
  )
  const after = (flag: string) => (words.includes(flag) ? words[words.indexOf(flag) + 1] : undefined)
  const url = words.find(word => word?.startsWith('localhost:7070/'))
  const body = after('-d')
  expect([curl, after('-H')]).toEqual(['curl', body && 'content-type: application/json'])
  return { method: after('-X') ?? 'GET', path: url?.replace('localhost:7070', '') ?? '', body }
}
