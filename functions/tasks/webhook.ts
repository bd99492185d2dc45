import { createHmac } from 'node:crypto'
import { request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { defineTask, type TaskDefinition } from '../../shared/define/define-task.ts'
import type { TaskContext } from '../../shared/define/task-context.ts'
import { Fatal } from '../../shared/signals.ts'
import { guardedLookup, refuseLiteral } from './private-addresses.ts'
import { signingSecret } from './signing-secret.ts'

const DEFAULT_TIMEOUT_MS = 10_000
/** So much of a receiver's answer is kept in the result. */
const KEPT_CHARACTERS = 1_000
const [SECOND_MS, MINUTE_MS, HOUR_MS] = [1_000, 60_000, 3_600_000]

/** What a receiver answered. */
export type WebhookAnswer = { readonly status: number; readonly body: string }

const definition = defineTask('webhook', {
  retry: {
    maxRetries: 8,
    backoff: 'ladder',
    delaysMs: [
      15 * SECOND_MS,
      30 * SECOND_MS,
      60 * SECOND_MS,
      15 * MINUTE_MS,
      30 * MINUTE_MS,
      60 * MINUTE_MS,
      4 * HOUR_MS,
      8 * HOUR_MS,
    ],
  },
  run: callReceiver,
})

/**
 * Calls a receiver: POSTs `{id, type, key, input, attempt}`. Success is a status below 400 within the limit; redirects
 * are not followed. The URL is the type's, or for tasks of the shipped type `webhook` the `url` of their input.
 */
export const webhook: TaskDefinition = { ...definition, config: { ...definition.config, kind: 'webhook' } }

async function callReceiver(input: unknown, context: TaskContext): Promise<WebhookAnswer> {
  const settings = context.webhook ?? {}
  const url = receiverUrl(settings.url ?? urlIn(input))
  if (!settings.allowPrivate) refuseLiteral(url)
  const { taskId: id, type, key, attempt } = context
  const body = JSON.stringify({ id, type, key, input: input ?? null, attempt })
  const signature = settings.secretName ? await signatureOf(body, settings.secretName) : undefined
  const limit = AbortSignal.timeout(settings.timeoutMs ?? DEFAULT_TIMEOUT_MS)
  const answer = await post(url, body, {
    signal: AbortSignal.any([limit, context.signal]),
    allowPrivate: settings.allowPrivate ?? false,
    headers: {
      'content-type': 'application/json',
      'user-agent': 'Baton-Webhook',
      'baton-idempotency-key': context.idempotencyKey,
      ...(context.traceparent && { traceparent: context.traceparent }),
      ...(signature && { 'baton-signature': signature }),
    },
  })
  if (answer.status >= 400)
    throw new Error(`${url.origin} answered ${answer.status}: ${answer.body.slice(0, 100)}`)
  return answer
}

function urlIn(input: unknown): string {
  const url = typeof input === 'object' && input !== null && 'url' in input ? input.url : undefined
  if (typeof url !== 'string') throw new Fatal('input.url: give the http or https URL to call')
  return url
}

function receiverUrl(text: string): URL {
  const url = URL.parse(text)
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:') {
    throw new Fatal(`'${text}' cannot be called: give an http or https URL`)
  }
  return url
}

/** `t=<unix seconds>,v1=<hex HMAC-SHA256 of "t.body">`, so that a receiver can refuse forged and replayed calls. */
async function signatureOf(body: string, secretName: string): Promise<string> {
  const seconds = Math.floor(Date.now() / 1_000)
  const digest = createHmac('sha256', await signingSecret(secretName))
    .update(`${seconds}.${body}`)
    .digest('hex')
  return `t=${seconds},v1=${digest}`
}

type Post = {
  readonly signal: AbortSignal
  readonly allowPrivate: boolean
  readonly headers: Readonly<Record<string, string>>
}

/** A plain request rather than `fetch`: the address that was checked must be the one that is connected to. */
function post(url: URL, body: string, { signal, allowPrivate, headers }: Post): Promise<WebhookAnswer> {
  const request = url.protocol === 'https:' ? requestHttps : requestHttp
  const options = { method: 'POST', headers, signal, ...(!allowPrivate && { lookup: guardedLookup }) }
  return new Promise((resolve, reject) => {
    const outgoing = request(url, options, response => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (chunk: string) => {
        if (text.length < KEPT_CHARACTERS) text = (text + chunk).slice(0, KEPT_CHARACTERS)
      })
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body: text }))
      response.on('error', reject)
    })
    outgoing.on('error', reject)
    outgoing.end(body)
  })
}
