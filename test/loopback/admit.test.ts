import type { IncomingMessage } from 'node:http'
import { expect, it } from 'vitest'
import { type Admit, admitting } from '../../loopback/loopback.ts'

const isAdmitted = (admit: Admit, headers: Record<string, string>, target: object = {}) =>
  admit({ headers, ...target } as unknown as IncomingMessage) === undefined

it.each([
  ['host.docker.internal:7070', true],
  ['HOST.docker.internal:7070', true],
  ['host.docker.internal:8080', false],
  ['host.docker.internal', false],
  ['baton.test:8080', true],
  ['baton.test:7070', false],
  ['host.docker.internal:7070.evil.example:7070', false],
  ['localhost:7070', true],
])(
  'a request for %s is answered (%s) when host.docker.internal and Baton.test:8080 are allowed on port 7070',
  (host, answered) => {
    const admit = admitting('7070', ['host.docker.internal', 'Baton.test:8080'])

    expect(isAdmitted(admit, { host })).toBe(answered)
    expect(isAdmitted(admit, { host, origin: `http://${host}` })).toBe(answered)
    expect(isAdmitted(admit, { host, origin: 'http://evil.example' })).toBe(false)
    expect(isAdmitted(admit, { host, origin: `https://${host}` })).toBe(false)
  },
)

it('on port 80 a host is admitted without the port', () => {
  const admit = admitting('80', [])

  expect(['localhost', '[::1]', '127.0.0.1:80'].map(host => isAdmitted(admit, { host }))).toEqual([
    true,
    true,
    true,
  ])
  expect(isAdmitted(admit, { host: 'evil.example' })).toBe(false)
  expect(isAdmitted(admit, {})).toBe(false)
})

const LINK = { 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }

it.each([
  ['a link in a mail', { url: '/tasks/order%3A17?x=/v1' }, LINK, true],
  ['a frame', {}, { ...LINK, 'sec-fetch-dest': 'iframe' }, false],
  ['a form', { method: 'POST' }, LINK, false],
  ['a preflight', { method: 'OPTIONS' }, LINK, false],
  ['a read by a script', {}, { 'sec-fetch-mode': 'cors', 'sec-fetch-dest': 'empty' }, false],
  ['a picture', {}, { 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'image' }, false],
  ['a link to the API', { url: '/v1/tasks?limit=1' }, LINK, false],
  ['a link under another host', {}, { ...LINK, host: 'evil.example:7070' }, false],
  ['a link that names its page', {}, { ...LINK, origin: 'https://evil.example' }, false],
])('%s of another site: %j %j is admitted (%s)', (_name, target, more, admitted) => {
  for (const site of ['cross-site', 'same-site']) {
    const headers = { host: 'localhost:7070', 'sec-fetch-site': site, ...more }
    expect(isAdmitted(admitting('7070', []), headers, { method: 'GET', url: '/', ...target })).toBe(admitted)
  }
})
