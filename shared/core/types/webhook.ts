import type { FieldProblem, Json } from '../values/values.ts'
import type { TypeConfiguration } from './task-type.ts'

/** The problem of a URL that names a user or a password. */
export const NO_USER_IN_URL = 'must have no user name or password: all readers of the API would see them'

/** The problem of a webhook's URL that names a user, with the remedy. */
export const NO_USER_IN_WEBHOOK = `${NO_USER_IN_URL}. Name a secret as webhook.secretName of the type, which signs each call`

export function namesUser(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { username, password } = new URL(text)
  return username !== '' || password !== ''
}

/** The URL with its user and password masked, for readers. Earlier versions stored types with such URLs. */
export function withoutUser(text: string): string {
  if (!namesUser(text)) return text
  const url = new URL(text)
  url.username = '***'
  url.password = ''
  return url.href
}

/** The URL in the input of a task whose type names none. */
export function urlInInput(input: unknown): string | undefined {
  const isObject = typeof input === 'object' && input !== null
  return isObject && 'url' in input && typeof input.url === 'string' ? input.url : undefined
}

/** The problems of the URL in the input of a webhook type's task. */
export function webhookInputProblems(
  { kind, webhook }: Pick<TypeConfiguration, 'kind' | 'webhook'>,
  input: Json | undefined,
): FieldProblem[] {
  if (kind !== 'webhook' || webhook?.url !== undefined) return []
  return namesUser(urlInInput(input) ?? '') ? [{ path: 'input.url', message: NO_USER_IN_WEBHOOK }] : []
}

const [SECOND_MS, MINUTE_MS, HOUR_MS] = [1_000, 60_000, 3_600_000]

/** The shipped type that calls the URL in its input. Its handler serves all types of kind `webhook`. */
export const WEBHOOK_TYPE = 'webhook'

/** The configuration of the shipped type: retries over half a day, since a receiver may be down for hours. */
export const WEBHOOK_CONFIGURATION = {
  kind: 'webhook',
  defaults: {
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
  },
} as const satisfies TypeConfiguration
