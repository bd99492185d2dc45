import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { API_PATH, type HttpAnswer, problemAnswer, targetOf } from '../../loopback/loopback.ts'

/**
 * A dashboard has one session. It belongs to the first browser that opens the printed address, which holds a secret of this start. The first
 * request with the secret gets a cookie, and a small page that stores a token and continues to the address without the secret. Then the
 * secret is used up, so an address in a history or in a log opens nothing. A second request with the secret means that another program has
 * it, and may have been the first: the session ends.
 *
 * The cookie opens the files of the dashboard. A call of the API also needs the token in a header: a browser sends cookies to every port of
 * this machine, but gives what a page has stored only to that page.
 */

/** The header with the token of the page, and the name under which the page stores it. `web/api/early.ts` has the same. */
export const PAGE_TOKEN = 'baton-dashboard-page'

const SECRET_BYTES = 32
const PARAMETER = 'secret'
/** The description of the API says nothing about the system. The reference links to it, and a link sends no header. */
const OPEN_PATH = '/v1/openapi.json'

type State = 'new' | 'entered' | 'over'

/** Makes the session of a dashboard at this port. Cookies know no ports, so the name of the cookie has it. */
export function createSession(port: string) {
  const [secret, key, token] = [newSecret(), newSecret(), newSecret()]
  const cookie = `baton-dashboard-${port}`
  let state: State = 'new'
  /** Takes the secret. Only the first request with it is accepted. */
  const enter = (request: IncomingMessage, given: string): HttpAnswer => {
    if (!isSame(given, secret)) return refusal(request, OTHER_ADDRESS)
    const isFirst = state === 'new'
    state = isFirst ? 'entered' : 'over'
    return isFirst ? entering(`${cookie}=${key}`, token) : refusal(request, USED_TWICE)
  }
  return {
    /** The path that the printed address has. */
    entry: `/?${PARAMETER}=${secret}`,
    /** Whether the secret has come a second time. Then every request is refused. */
    isOver: () => state === 'over',
    /** The refusal of a request from any other browser; undefined for a request with the session's cookie. */
    check: (request: IncomingMessage) => {
      if (state === 'over') return refusal(request, USED_TWICE)
      const given = secretIn(request)
      const isKnown = isSame(cookieOf(request, cookie), key)
      if (isKnown) return given === undefined ? tokenProblem(request, token) : withoutSecret
      return given === undefined ? refusal(request, OTHER_BROWSER) : enter(request, given)
    },
  }
}

const OTHER_BROWSER = 'This page is for the browser that has opened its address.'
const OTHER_ADDRESS = 'The address is not the address of this dashboard.'

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
function secretIn(request: IncomingMessage): string | undefined {
  const { method, path, query } = targetOf(request)
  if (method !== 'GET' || path !== '/') return undefined
  return new URLSearchParams(query).get(PARAMETER) ?? undefined
}

function tokenProblem(request: IncomingMessage, token: string): HttpAnswer | undefined {
  const { path } = targetOf(request)
  if (!API_PATH.test(path) || path === OPEN_PATH) return undefined
  if (isSame(request.headers[PAGE_TOKEN]?.toString(), token)) return undefined
  return refusal(request, 'A call of the API must come from the page that the printed address has opened.')
}

const ENTRY_HEADERS = { 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' }

/** Sends the browser that is in already on to the address without the secret. */
const withoutSecret: HttpAnswer = {
  status: 303,
  headers: { ...ENTRY_HEADERS, location: '/' },
  body: Buffer.alloc(0),
}

/** A page that stores the token and continues to the address without the secret. Its policy lets only its own script run. */
function entering(cookie: string, token: string): HttpAnswer {
  const nonce = newSecret()
  const script = `localStorage.setItem('${PAGE_TOKEN}', '${token}'); location.replace('/')`
  const headers = {
    ...ENTRY_HEADERS,
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': `default-src 'none'; script-src 'nonce-${nonce}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
    'cross-origin-opener-policy': 'same-origin',
    'x-content-type-options': 'nosniff',
    'set-cookie': `${cookie}; Path=/; HttpOnly; SameSite=Lax`,
  }
  const page = `<!doctype html><title>Baton</title><script nonce="${nonce}">${script}</script>`
  return { status: 200, headers, body: Buffer.from(page) }
}

const USED_TWICE =
  'The address of this dashboard works once, and was opened a second time, so the dashboard has ended.'
const ADVICE = 'Start baton dashboard again, and open the address that it prints.'

/** A call of the API gets a problem document, and anything else a page of text. */
function refusal(request: IncomingMessage, reason: string): HttpAnswer {
  if (API_PATH.test(targetOf(request).path))
    return problemAnswer('unauthorized', 401, 'Not the browser of this dashboard', `${reason} ${ADVICE}`)
  const headers = { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' }
  return { status: 401, headers, body: Buffer.from(`${reason}\n${ADVICE}\n`) }
}
