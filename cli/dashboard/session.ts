import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { type HttpAnswer, problemAnswer } from '../../shared/loopback/answer.ts'
import { API_PATH } from '../../shared/loopback/pages.ts'

/**
 * The session of a dashboard is that of the browser that has opened its printed address. The address holds a secret of this start. The first request
 * with it gets a cookie, and is sent on to the address without it. From then on the secret is worth nothing, so an address that stays in
 * a history or in a log opens nothing.
 */
export type Session = {
  /** The path that the printed address has. */
  readonly entry: string
  /** The answer to a request that is not of the browser that has the cookie; undefined if it is. */
  check(request: IncomingMessage): HttpAnswer | undefined
}

const SECRET_BYTES = 32
const PARAMETER = 'secret'

/** Makes the session of a dashboard at this port. Cookies know no ports, so the name of the cookie has it. */
export function createSession(port: string): Session {
  const [secret, key] = [newSecret(), newSecret()]
  const cookie = `baton-dashboard-${port}`
  let isEntered = false
  return {
    entry: `/?${PARAMETER}=${secret}`,
    check: request => {
      const given = secretIn(request)
      const isKnown = isSame(cookieOf(request, cookie), key)
      if (isKnown) return given === undefined ? undefined : entering()
      if (given === undefined)
        return refusal(request, 'This page is for the browser that has opened its address.')
      if (isEntered)
        return refusal(request, 'The address of this dashboard was opened before, and works once.')
      if (!isSame(given, secret)) return refusal(request, 'The address is not that of this dashboard.')
      isEntered = true
      return entering(`${cookie}=${key}; Path=/; HttpOnly; SameSite=Strict`)
    },
  }
}

function newSecret(): string {
  return randomBytes(SECRET_BYTES).toString('base64url')
}

/** Compares digests, so that the time says nothing about the secret. */
function isSame(given: string | undefined, secret: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  return given !== undefined && timingSafeEqual(digest(given), digest(secret))
}

function cookieOf({ headers }: IncomingMessage, name: string): string | undefined {
  const pairs = (headers.cookie ?? '').split(/;\s*/).map(pair => pair.split(/=(.*)/s))
  return pairs.find(([one]) => one === name)?.[1]
}

/** The secret of a request that opens the page. A preview of a link asks by HEAD, and must not use it up. */
function secretIn({ method, url = '/' }: IncomingMessage): string | undefined {
  const [path, query] = url.split(/\?(.*)/s)
  if (method !== 'GET' || path !== '/') return undefined
  return new URLSearchParams(query).get(PARAMETER) ?? undefined
}

/** Sends the browser on to the address without the secret. */
function entering(cookie?: string): HttpAnswer {
  const headers = {
    location: '/',
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
    ...(cookie !== undefined && { 'set-cookie': cookie }),
  }
  return { status: 303, headers, body: Buffer.alloc(0) }
}

const ADVICE = 'Start baton dashboard again, and open the address that it prints.'

/** A call of the API gets a problem document, and anything else a page of text. */
function refusal({ url = '/' }: IncomingMessage, reason: string): HttpAnswer {
  if (API_PATH.test(url.split('?')[0] ?? ''))
    return problemAnswer('unauthorized', 401, 'Not the browser of this dashboard', `${reason} ${ADVICE}`)
  const headers = { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' }
  return { status: 401, headers, body: Buffer.from(`${reason}\n${ADVICE}\n`) }
}
