import { createHmac } from 'node:crypto'
import { GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager'
import { requiredVariable, systemClock } from '../../shared/aws/environment.ts'
import type { WebhookSettings } from '../../shared/core/types/task-type.ts'
import {
  NO_USER_IN_WEBHOOK,
  namesUser,
  urlInInput,
  WEBHOOK_CONFIGURATION,
  WEBHOOK_TYPE,
} from '../../shared/core/types/webhook.ts'
import { defineTask } from '../../shared/define/define-task.ts'
import type { TaskContext, TaskDefinition } from '../../shared/define/definitions.ts'
import { createTimedCache } from '../../shared/runtime/kernel/system.ts'
import { Fatal } from '../../shared/signals.ts'
import { type ResolveName, systemResolver } from '../guarded-fetch/checked-addresses.ts'
import { failureMessageOf, guardedFetch, isSuccess, textOf } from '../guarded-fetch/guarded-fetch.ts'

const DEFAULT_TIMEOUT_MS = 10_000
/** How many bytes of a receiver's answer are read. Most answers are shorter, so most receivers can send their whole answer. */
const ANSWER_BYTES_MAX = 65_536
/** How many characters of a receiver's answer the result keeps. */
const RESULT_BODY_CHARACTERS_MAX = 1_000

/** The status and the beginning of the body that a receiver answered. */
type WebhookAnswer = { readonly status: number; readonly body: string }

/**
 * Calls a receiver: POSTs `{id, type, key, input, attempt}`. A 2xx status within the time limit is a success. Redirects are
 * not followed. The type's configuration gives the URL. For a type without a URL, such as the shipped `webhook`, the input does.
 */
export const webhook = webhookWith(systemResolver)

/** Makes the handler with the given resolver. */
export function webhookWith(resolve: ResolveName): TaskDefinition<unknown, WebhookAnswer> {
  const definition = defineTask(WEBHOOK_TYPE, {
    run: (input: unknown, context) => callReceiver(input, context, resolve),
  })
  return { ...definition, config: WEBHOOK_CONFIGURATION }
}

async function callReceiver(
  input: unknown,
  context: TaskContext,
  resolve: ResolveName,
): Promise<WebhookAnswer> {
  const settings = context.webhook ?? {}
  const url = receiverUrl(settings, input)
  const { taskId: id, type, key, attempt } = context
  const body = JSON.stringify({ id, type, key, input: input ?? null, attempt })
  const answer = await guardedFetch(url, {
    method: 'POST',
    headers: await headersOf(body, settings, context),
    body,
    timeoutMs: settings.timeoutMs ?? DEFAULT_TIMEOUT_MS,
    signal: context.signal,
    bodyBytesMax: ANSWER_BYTES_MAX,
    allowPrivate: settings.allowPrivate ?? false,
    privateHint: 'webhook.allowPrivate of the task type permits such calls',
    resolve,
  })
  if (!isSuccess(answer)) throw new Error(failureMessageOf(url, answer))
  return { status: answer.status, body: textOf(answer, RESULT_BODY_CHARACTERS_MAX) }
}

/**
 * Returns the URL to call. A type's URL may name a user, because the type may have been stored before Baton refused such URLs.
 * A URL in an input may not, because the API shows the input with its task.
 */
function receiverUrl({ url: typeUrl }: WebhookSettings, input: unknown): URL {
  const [text, path] = typeUrl === undefined ? [urlInInput(input), 'input.url'] : [typeUrl, 'webhook.url']
  if (text === undefined) throw new Fatal('input.url: give the http or https URL to call')
  if (typeUrl === undefined && namesUser(text)) throw new Fatal(`input.url ${NO_USER_IN_WEBHOOK}`)
  const url = URL.parse(text)
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:') {
    throw new Fatal(`${path} cannot be called: give an http or https URL`)
  }
  return url
}

async function headersOf(
  body: string,
  { secretName }: WebhookSettings,
  { idempotencyKey, traceparent }: TaskContext,
): Promise<Record<string, string>> {
  return {
    'content-type': 'application/json',
    'user-agent': 'Baton-Webhook',
    'baton-idempotency-key': headerValue(idempotencyKey),
    ...(traceparent && { traceparent }),
    ...(secretName && { 'baton-signature': await signatureOf(body, secretName) }),
  }
}

/**
 * Encodes any text as the value of a header, which HTTP limits to ASCII. `%`, spaces and all characters that are not
 * printable ASCII are percent-encoded as UTF-8. `decodeURIComponent` restores the text.
 */
function headerValue(text: string): string {
  return text.toWellFormed().replace(/[^\x21-\x24\x26-\x7e]/gu, character => encodeURIComponent(character))
}

/** Signs a body as `t=<unix seconds>,v1=<hex HMAC-SHA256 of "t.body">`, so that a receiver can refuse forged and replayed calls. */
async function signatureOf(body: string, secretName: string): Promise<string> {
  const seconds = Math.floor(Date.now() / 1_000)
  const digest = createHmac('sha256', await signingSecret(secretName))
    .update(`${seconds}.${body}`)
    .digest('hex')
  return `t=${seconds},v1=${digest}`
}

/** How long a secret is cached. The new value of a rotated secret is used after at most this time. */
const CACHE_LIFETIME_MS = 300_000

const client = new SecretsManagerClient({})
const secretCache = createTimedCache<string>(CACHE_LIFETIME_MS)

/** Reads the secret that signs a type's calls. Secrets Manager stores it as `<system>/webhook/<name>`. */
async function signingSecret(name: string): Promise<string> {
  const id = `${requiredVariable('BATON_SYSTEM')}/webhook/${name}`
  return (await secretCache.get(systemClock, name, () => readSecret(id))).value
}

async function readSecret(id: string): Promise<string> {
  const { SecretString } = await client.send(new GetSecretValueCommand({ SecretId: id }))
  if (!SecretString) throw new Error(`the secret ${id} has no text; store its value as text`)
  return SecretString
}
