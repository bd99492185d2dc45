import { createHmac } from 'node:crypto'
import { stripTypeScriptTypes } from 'node:module'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { webhook } from '../../../functions/tasks/webhook.ts'
import type { WebhookSettings } from '../../../shared/core/types/task-type.ts'
import { Fatal } from '../../../shared/signals.ts'
import { failureOf } from '../../support/failure-of.ts'
import { aReceiver, type TestReceiver } from '../../support/http/a-receiver.ts'
import { snippets } from '../../support/snippets.ts'
import { aTaskContext } from '../../support/tasks/a-task-context.ts'

const SECRET = 'secret Baton/webhook/orders'
const [snippet = ''] = snippets('docs/webhooks.md', 'ts')
const TRACEPARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'

let receiver: TestReceiver
let received: TestReceiver['received']
let url: string

beforeAll(async () => {
  receiver = await aReceiver((request, response, { path, body }) => {
    if (request.headers['x-amz-target'] === 'secretsmanager.GetSecretValue')
      return void response.end(JSON.stringify({ SecretString: `secret ${JSON.parse(body).SecretId}` }))
    if (path === '/slow') return
    const [, status = 200, form = 'short'] = /^\/(\d+)(?:\/(\w+))?/.exec(path) ?? []
    const answer = {
      short: `answer ${status}`,
      long: '😀'.repeat(40_000),
      odd: `a${'😀'.repeat(40_000)}`,
      lines: 'not now\r\n\u0000level: error',
    }[form]
    response.writeHead(Number(status)).end(answer)
  })
  ;({ received, url } = receiver)
  Object.assign(process.env, {
    AWS_ENDPOINT_URL_SECRETS_MANAGER: url,
    AWS_REGION: 'us-east-1',
    AWS_ACCESS_KEY_ID: 'test',
    AWS_SECRET_ACCESS_KEY: 'test',
    BATON_SYSTEM: 'Baton',
  })
})

afterAll(() => receiver.stop())

function call(
  input: unknown,
  settings: WebhookSettings = { allowPrivate: true },
  idempotencyKey = 'webhook:k/b',
) {
  const context = aTaskContext({ idempotencyKey, traceparent: TRACEPARENT, webhook: settings })
  return Promise.resolve().then(() => webhook.run(input, context))
}

describe('a webhook', () => {
  it('POSTs id, type, key, input and attempt, and keeps the answer', async () => {
    const answer = await call({ url: `${url}/200`, order: 7 })

    expect(answer).toEqual({ status: 200, body: 'answer 200' })
    expect(JSON.parse(received.at(-1)?.body ?? '')).toEqual({
      id: 'webhook:k',
      type: 'webhook',
      key: 'k',
      input: { url: `${url}/200`, order: 7 },
      attempt: 2,
    })
    expect(received.at(-1)?.headers).toMatchObject({
      'content-type': 'application/json',
      'baton-idempotency-key': 'webhook:k/b',
      traceparent: TRACEPARENT,
    })
  })

  it('is signed, so that the receiver can check its time and body', async () => {
    await call({ url, name: 'größe' }, { allowPrivate: true, secretName: 'orders' })

    const { headers, body } = received.at(-1)!
    const signature = String(headers['baton-signature'])
    const [, seconds, digest] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(signature) ?? []
    expect(digest).toBe(createHmac('sha256', SECRET).update(`${seconds}.${body}`).digest('hex'))
    expect(Math.abs(Number(seconds) - Date.now() / 1_000)).toBeLessThan(300)
  })

  it('is recognised by the code of docs/webhooks.md, which refuses forged and old calls', async () => {
    await call({ url }, { allowPrivate: true, secretName: 'orders' })
    const { isFromBaton } = await import(
      `data:text/javascript,${encodeURIComponent(stripTypeScriptTypes(snippet))}`
    )

    const { headers, body } = received.at(-1)!
    const signature = String(headers['baton-signature'])
    const signedAt = Number(/\d+/.exec(signature)) * 1_000
    const judged = (...[header, text, secret, at]: [string, string, string, number]) =>
      isFromBaton(header, text, secret, at)

    expect(judged(signature, body, SECRET, signedAt)).toBe(true)
    expect(judged(signature, body, SECRET, signedAt + 300_000)).toBe(true)
    expect(judged(signature, body, SECRET, signedAt + 301_000)).toBe(false)
    expect(judged(signature, body, SECRET, signedAt - 301_000)).toBe(false)
    expect(judged(signature, body, 'another secret', signedAt)).toBe(false)
    expect(judged(signature, body.replace('"attempt":2', '"attempt":1'), SECRET, signedAt)).toBe(false)
    expect(judged(signature.replace(/v1=../, 'v1=zz'), body, SECRET, signedAt)).toBe(false)
    expect(judged('', body, SECRET, signedAt)).toBe(false)
  })

  it.each([200, 201, 204, 299])('succeeds with status %i', async status => {
    await expect(call({ url: `${url}/${status}` })).resolves.toMatchObject({ status })
  })

  it.each([300, 302, 304, 399, 400, 404, 500, 503])('fails with status %i, to be retried', async status => {
    const failure = await failureOf(call({ url: `${url}/${status}?token=hidden` }))

    expect(failure).not.toBeInstanceOf(Fatal)
    expect(failure.message).toContain(`${url} answered ${status}`)
    expect(failure.stack).not.toContain('hidden')
    expect(received.at(-1)?.path).toBe(`/${status}?token=hidden`)
  })

  it('quotes the beginning of the answer of a failing receiver', async () => {
    const failure = await failureOf(call({ url: `${url}/500/long` }))

    expect(failure.message).toBe(`${url} answered 500: ${'😀'.repeat(100)}`)
  })

  it('quotes an answer of several lines on one line', async () => {
    const failure = await failureOf(call({ url: `${url}/500/lines` }))

    expect(failure.message).toBe(`${url} answered 500: not now level: error`)
  })

  it('keeps the first 1,000 characters of a long answer, and no half of a character', async () => {
    const answer = await call({ url: `${url}/200/odd` })

    expect(answer).toEqual({ status: 200, body: `a${'😀'.repeat(499)}\ufffd` })
  })

  it('fails when the receiver does not answer within the time limit', async () => {
    const failure = await failureOf(call({ url: `${url}/slow` }, { allowPrivate: true, timeoutMs: 150 }))

    expect(failure.message).toContain(`${url} took longer than 150 ms`)
    expect(failure).not.toBeInstanceOf(Fatal)
  })

  it.each([
    ['plain ASCII', 'webhook:order-7/01ABC', 'webhook:order-7/01ABC'],
    ['letters of another script', 'webhook:заказ-七/01ABC', undefined],
    ['an emoji', 'webhook:🥊', 'webhook:%F0%9F%A5%8A'],
    ['Latin-1', 'webhook:größe', 'webhook:gr%C3%B6%C3%9Fe'],
    ['spaces at its ends', 'webhook: a b ', 'webhook:%20a%20b%20'],
    ['a percent sign', 'webhook:100%25', 'webhook:100%2525'],
    ['half a surrogate pair', 'webhook:\ud83d', 'webhook:%EF%BF%BD'],
    ['a line break', 'webhook:a\r\nx-admin: 1', 'webhook:a%0D%0Ax-admin:%201'],
  ])('sends its idempotency key as ASCII when the key has %s', async (_what, key, told) => {
    await call({ url }, { allowPrivate: true }, key)

    const header = String(received.at(-1)?.headers['baton-idempotency-key'])
    expect(header).toMatch(/^[!-~]+$/)
    expect(decodeURIComponent(header)).toBe(key.toWellFormed())
    if (told !== undefined) expect(header).toBe(told)
    expect(received.at(-1)?.headers).not.toHaveProperty('x-admin')
  })

  it('sends the user and password of a URL that its type was stored with', async () => {
    await call({}, { url: url.replace('//', '//user:pass@'), allowPrivate: true })

    expect(received.at(-1)?.headers.authorization).toBe(`Basic ${btoa('user:pass')}`)
  })

  it('never shows the password in a URL', async () => {
    const withPassword = `${url.replace('//', '//user:hidden@')}/500?token=hidden`
    const stored = { url: withPassword, allowPrivate: true }

    const failures = [
      await failureOf(call({}, stored)),
      await failureOf(call({}, { ...stored, allowPrivate: false })),
      await failureOf(call({ url: withPassword })),
      await failureOf(call({ url: 'ftp://user:hidden@example.com/?token=hidden' })),
      await failureOf(call({}, { url: 'nonsense://hidden', allowPrivate: true })),
    ]

    for (const { stack, message } of failures) expect(`${message}${stack}`).not.toContain('hidden')
    expect(failures.map(failure => failure instanceof Fatal)).toEqual([false, true, true, true, true])
    expect(failures[2]?.message).toContain('input.url must have no user name or password')
    expect(failures[2]?.message).toContain('webhook.secretName')
  })

  it('calls the URL of its type when the type has one', async () => {
    await call({ url: `${url}/500` }, { url: `${url}/200`, allowPrivate: true })

    expect(received.at(-1)?.path).toBe('/200')
  })

  it.each([
    ['no URL', { order: 1 }],
    ['no object', 'http://example.com'],
    ['another scheme', { url: 'file:///etc/passwd' }],
    ['no URL at all', { url: 'nonsense' }],
  ])('fails for good when its input has %s', async (_name, input) => {
    await expect(call(input)).rejects.toBeInstanceOf(Fatal)
  })

  it.each([
    ['a loopback address', () => url],
    ['a name that leads to one', () => url.replace('127.0.0.1', 'localhost')],
    ['an odd spelling of one', () => url.replace('127.0.0.1', '0x7f.1')],
  ])('refuses %s unless the type allows it', async (_name, target) => {
    const before = received.length

    const failure = await failureOf(call({ url: target() }, {}))

    expect(failure).toBeInstanceOf(Fatal)
    expect(failure.message).toContain('webhook.allowPrivate of the task type permits such calls')
    expect(received.length).toBe(before)
  })
})
