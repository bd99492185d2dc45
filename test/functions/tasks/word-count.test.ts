import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemResolver } from '../../../functions/guarded-fetch/checked-addresses.ts'
import { countWords, wordCount, wordCountWith } from '../../../functions/tasks/word-count.ts'
import { parsedInput } from '../../../shared/runtime/handler/handler.ts'
import { Fatal } from '../../../shared/signals.ts'
import { aReceiver, type TestReceiver } from '../../support/http/a-receiver.ts'
import { aTaskContext } from '../../support/tasks/a-task-context.ts'

describe('countWords', () => {
  it.each([
    ['', { words: 0, distinct: 0, lines: 0 }],
    ['To be, or not to be.', { words: 6, distinct: 4, lines: 1 }],
    ['eins zwei\ndrei', { words: 3, distinct: 3, lines: 2 }],
    ['naïve café — naïve', { words: 3, distinct: 2, lines: 1 }],
  ])('counts the words of %j', (text, expected) => {
    expect(countWords(text)).toMatchObject(expected)
  })

  it('lists the most frequent words first', () => {
    expect(countWords('b a b c b a').top).toEqual([
      { word: 'b', count: 3 },
      { word: 'a', count: 2 },
      { word: 'c', count: 1 },
    ])
  })
})

describe('a text behind a URL', () => {
  const onThisMachine = wordCountWith({ resolve: systemResolver, allowPrivate: true, privateHint: '' })
  const fetched = async (path: string) => onThisMachine.run({ url: receiver.url + path }, aTaskContext())
  let receiver: TestReceiver

  beforeAll(async () => {
    receiver = await aReceiver(({ url = '' }, response) => {
      if (url.startsWith('/text')) response.end('To be, or not to be.')
      else if (url.startsWith('/large')) response.end('a '.repeat(5_000_001))
      else if (url.startsWith('/packed'))
        response.setHeader('content-encoding', 'gzip').end(gzipSync('to be'))
      else response.writeHead(Number(url.slice(1, 4))).end('no text')
    })
  })

  afterAll(() => receiver?.stop())

  it('is counted', async () => {
    expect(await fetched('/text')).toMatchObject({ words: 6, distinct: 4 })
    expect(receiver.received.at(-1)?.headers['accept-encoding']).toBe('identity')
  })

  it.each([
    ['/404', true, 'answered 404: no text'],
    ['/410', true, 'answered 410: no text'],
    ['/500', false, 'answered 500: no text'],
    ['/403', false, 'answered 403: no text'],
    ['/large', true, 'has more than 10000000 bytes'],
    ['/packed', true, 'is encoded as gzip'],
  ])('fails at %s, for good: %s', async (path, isForGood, message) => {
    const failure = await fetched(`${path}?token=hidden`).catch((error: Error) => error)

    expect(failure).toBeInstanceOf(Error)
    expect(failure instanceof Fatal).toBe(isForGood)
    expect((failure as Error).message).toContain(message)
    expect((failure as Error).message).not.toContain('hidden')
  })

  it.each([
    [{ url: 'http://user:hidden@example.com/' }, 'url: must have no user name or password'],
    [{ url: 'file:///etc/passwd' }, 'url: Invalid URL'],
  ])('is refused for the input %j', async (input, message) => {
    const failure = await parsedInput(input, wordCount).catch((error: Error) => error)

    expect(failure).toBeInstanceOf(Fatal)
    expect((failure as Error).message).toContain(message)
    expect((failure as Error).message).not.toContain('hidden')
  })

  it('is fetched from public addresses only, unless a policy says otherwise', async () => {
    const before = receiver.connections()

    const called = Promise.resolve().then(() =>
      wordCount.run({ url: `${receiver.url}/text` }, aTaskContext()),
    )

    await expect(called).rejects.toThrow('texts are fetched from public addresses only')
    expect(receiver.connections()).toBe(before)
  })
})
