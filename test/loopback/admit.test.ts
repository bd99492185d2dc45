import type { IncomingMessage } from 'node:http'
import { expect, it } from 'vitest'
import { type Admit, admitting } from '../../loopback/loopback.ts'

const isAdmitted = (admit: Admit, headers: Record<string, string>) =>
  admit({ headers } as unknown as IncomingMessage) === undefined

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
