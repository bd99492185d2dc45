import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { servePages } from '../../loopback/pages.ts'
import { aFolder } from '../support/a-folder.ts'

const server = createServer()
let url = ''

beforeAll(async () => {
  const folder = aFolder()
  mkdirSync(join(folder, 'assets'))
  writeFileSync(join(folder, 'index.html'), '<title>the dashboard</title>')
  writeFileSync(join(folder, 'assets/main-AB12.js'), 'start()')
  const pages = servePages(folder)
  server.on('request', (request, response) => {
    if (!pages(request, response)) response.writeHead(404).end('left to the API')
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})

afterAll(() => void server.close())

const asDocument = (path: string, init: RequestInit = {}) =>
  fetch(url + path, { ...init, headers: { accept: 'text/html,*/*', ...init.headers } })

it.each(['/', '/tasks', '/tasks/resize%3Aimg%2F1', '/types/a?x=1'])('%s is the document', async path => {
  const answer = await asDocument(path)

  expect(answer.status).toBe(200)
  expect(await answer.text()).toContain('the dashboard')
  expect(answer.headers.get('cache-control')).toBe('no-cache')
})

it.each(['/v1', '/v1/tasks?type=x', '/healthz'])('%s is left to the API', async path => {
  expect(await (await asDocument(path)).text()).toBe('left to the API')
})

it('a request that is not a document and names no file is left to the API, and so is every other method', async () => {
  const answers = await Promise.all([
    fetch(`${url}/assets/none.js`),
    asDocument('/', { method: 'POST' }),
    fetch(`${url}/../package.json`),
  ])

  expect(answers.map(({ status }) => status)).toEqual([404, 404, 404])
})

it('a file whose name has a hash is kept for ever, and sent zipped', async () => {
  const answer = await fetch(`${url}/assets/main-AB12.js`)

  expect(await answer.text()).toBe('start()')
  expect(answer.headers.get('content-type')).toBe('text/javascript; charset=utf-8')
  expect(answer.headers.get('cache-control')).toContain('immutable')
  expect(answer.headers.get('content-encoding')).toBe('gzip')
})

it('a file that the browser has is not sent again', async () => {
  const etag = (await asDocument('/')).headers.get('etag') ?? ''

  const again = await asDocument('/', { headers: { 'if-none-match': etag } })

  expect(again.status).toBe(304)
})

it('HEAD has the headers only', async () => {
  const answer = await asDocument('/', { method: 'HEAD' })

  expect(answer.status).toBe(200)
  expect(await answer.text()).toBe('')
})

it('each answer allows code and calls of its own origin only, and no frames', async () => {
  const policy = (await asDocument('/')).headers.get('content-security-policy') ?? ''

  expect(policy.split('; ')).toEqual(
    expect.arrayContaining([
      "default-src 'none'",
      "script-src 'self'",
      "connect-src 'self'",
      "frame-ancestors 'none'",
    ]),
  )
  expect(policy).not.toMatch(/unsafe|\*|https?:/)
})

it('a folder without a document is refused', () => {
  expect(() => servePages(aFolder())).toThrow('has no index.html')
})
