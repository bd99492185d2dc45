import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { extname, join, sep } from 'node:path'
import { gzipSync } from 'node:zlib'
import { API_PATH, type RequestHandler, targetOf } from './loopback.ts'

/** A built file of the dashboard, as it is sent. */
type Page = {
  readonly plain: Buffer
  readonly zipped: Buffer
  readonly headers: Readonly<Record<string, string>>
}

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/** The names of these files contain a hash of their content, so a browser never asks for one twice. */
const HASHED = '/assets/'
const HASHED_CACHE = 'public, max-age=31536000, immutable'
/** The browser asks each time whether the file has changed. */
const OTHER_CACHE = 'no-cache'

/**
 * Only files of the dashboard run or are shown, and only this API is called. Text that a task brings with it can therefore load and
 * run nothing, even if a page had a flaw.
 */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  ...["script-src 'self'", "style-src 'self'", "img-src 'self'", "connect-src 'self'"],
  ...["base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"],
  "require-trusted-types-for 'script'",
].join('; ')

const SECURITY_HEADERS = {
  'content-security-policy': CONTENT_SECURITY_POLICY,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
}

/**
 * Serves the dashboard from the folder of its built files. It reads them once. A path that names no file is answered with the one
 * document of the dashboard, which shows the page of that path. `/docs` is the file `docs.html`, the reference of the API.
 *
 * @throws Error when the folder has no `index.html`
 */
export function servePages(folder: string): RequestHandler {
  const pages = readPages(folder)
  const document = pages.get('/index.html')
  if (!document) throw new Error(`${folder} has no index.html: it does not hold a built dashboard`)
  return (request, response) => {
    const { method, path } = targetOf(request)
    if ((method !== 'GET' && method !== 'HEAD') || API_PATH.test(path)) return false
    const page =
      pages.get(path) ?? pages.get(`${path}.html`) ?? (wantsDocument(request) ? document : undefined)
    if (page) send(page, request, response)
    return page !== undefined
  }
}

function wantsDocument({ headers }: IncomingMessage): boolean {
  return (headers.accept ?? '').includes('text/html')
}

function readPages(folder: string): Map<string, Page> {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
    file => extname(file) !== '',
  )
  return new Map(
    files.map(file => {
      const path = `/${file.split(sep).join('/')}`
      return [path, pageOf(path, readFileSync(join(folder, file)))] as const
    }),
  )
}

function pageOf(path: string, plain: Buffer): Page {
  const hash = createHash('sha256').update(plain).digest('base64url').slice(0, 22)
  return {
    plain,
    zipped: gzipSync(plain),
    headers: {
      ...SECURITY_HEADERS,
      'content-type': CONTENT_TYPES[extname(path)] ?? 'application/octet-stream',
      'cache-control': path.startsWith(HASHED) ? HASHED_CACHE : OTHER_CACHE,
      etag: `"${hash}"`,
      vary: 'accept-encoding',
    },
  }
}

function send({ plain, zipped, headers }: Page, request: IncomingMessage, response: ServerResponse): void {
  if (request.headers['if-none-match'] === headers.etag) {
    response.writeHead(304, headers).end()
    return
  }
  const isZipped = /\bgzip\b/.test(String(request.headers['accept-encoding'] ?? ''))
  const body = isZipped ? zipped : plain
  response.writeHead(200, {
    ...headers,
    ...(isZipped && { 'content-encoding': 'gzip' }),
    'content-length': body.length,
  })
  response.end(request.method === 'HEAD' ? undefined : body)
}
